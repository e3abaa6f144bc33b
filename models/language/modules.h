// Modules and functions of language models, in addition to those of converter/graph/ops.h.
#pragma once

#include "converter/graph/ops.h"
#include "models/language/config.h"

namespace ferry::language {

struct RmsNorm {
  double epsilon;
  bool zero_centered = false;  // the checkpoint stores weight - 1 (Gemma)
};

// RMSNorm over channels (Zhang and Sennrich 2019): no mean, no bias.
Tensor rms_norm(Tensor x, const Weights& w, const RmsNorm& norm);

// RMSNorm over each head's channels of x [1,L,heads*D]. The tap is [1,L,heads,D], or [1,heads,L,D] if the framework
// transposes first (`heads_first`).
Tensor rms_norm_heads(Tensor x, const Weights& w, const RmsNorm& norm, int heads, bool heads_first);

// For rows N,C: weight * normalized(x) * silu(gate). The tap is after the gate.
Tensor gated_rms_norm(Tensor x, Tensor gate, const Weights& w, const RmsNorm& norm);

// scale * x / sqrt(sum of squares + 1e-6) over each head's channels of x [1,L,heads*D].
Tensor l2_norm_heads(Tensor x, int heads, double scale = 1);

// Gathers rows of x, N,C, by the Int32 indices I...: I...,C.
Tensor rows(Tensor x, Tensor indices);

// Over the last dimension, with a shared weight O,I: a head tied to the embedding.
Tensor linear(Tensor x, Tensor weight);

// Sums over the first dimension and removes it.
Tensor sum_first(Tensor x);

// The activation that `setting` names. Throws Error if it is not supported.
Tensor (*activation_of(const Configuration& config, const char* setting, const char* absent))(Tensor);

}  // namespace ferry::language
