// Modules and functions that language models are written with, besides those of converter/graph/ops.h.
#pragma once

#include "converter/graph/ops.h"
#include "models/language/config.h"

namespace ferry::language {

struct RmsNorm {
  double epsilon;
  bool zero_centered = false;  // the checkpoint holds weight - 1 (Gemma)
};

// Root mean square normalization over channels: no mean, no bias (RMSNorm, Zhang and Sennrich 2019).
Tensor rms_norm(Tensor x, const Weights& w, const RmsNorm& norm);

// Of each head's channels of x [1,L,heads*D]. The tap is [1,L,heads,D], or [1,heads,L,D] where the framework
// normalizes what it has transposed already (`heads_first`).
Tensor rms_norm_heads(Tensor x, const Weights& w, const RmsNorm& norm, int heads, bool heads_first);

// Of rows N,C: weight * normalized(x) * silu(gate). The tap is after the gate.
Tensor gated_rms_norm(Tensor x, Tensor gate, const Weights& w, const RmsNorm& norm);

// scale * x / sqrt(sum of squares + 1e-6) over each head's channels of x [1,L,heads*D].
Tensor l2_norm_heads(Tensor x, int heads, double scale = 1);

// Rows of x, N,C, one for each of the Int32 indices I...: I...,C.
Tensor rows(Tensor x, Tensor indices);

// Over the last dimension, with a weight O,I that something else uses, too: a head tied to the embedding.
Tensor linear(Tensor x, Tensor weight);

// Over the first dimension, which goes.
Tensor sum_first(Tensor x);

// The activation that the setting names. Throws Error where it is none that is built here.
Tensor (*activation_of(const Configuration& config, const char* setting, const char* absent))(Tensor);

}  // namespace ferry::language
