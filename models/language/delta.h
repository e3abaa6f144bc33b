// Gated DeltaNet (Yang, Kautz and Hatamizadeh, arXiv:2412.06464) as Qwen3-Next configures it: linear attention whose
// state is one matrix per head, decayed and corrected by every token.
#pragma once

#include "models/language/config.h"
#include "models/language/language_model.h"
#include "models/language/modules.h"

namespace ferry::language {

struct DeltaNet {
  int key_heads, key_size;      // of queries and keys: number of heads, channels per head
  int value_heads, value_size;  // of values: number of heads, a multiple of key_heads; channels per head
  int kernel;                   // size of the causal convolution, in tokens
  Tensor (*activation)(Tensor);
  double epsilon;
  // in_proj_qkvz and in_proj_ba replace four projections; the rows of a key head and its value heads are adjacent.
  bool fused = false;

  int keys() const { return key_heads * key_size; }
  int values() const { return value_heads * value_size; }
};

// Reads the `linear_` settings of the file. Throws Error if one is invalid.
DeltaNet delta_net_of(const Configuration& config, Tensor (*activation)(Tensor), double epsilon);

// State of layer `layer`.
Recurrence recurrence_of(const DeltaNet& net, const Text& text, size_t layer);

Tensor delta_net(Tensor x, const Weights& w, const DeltaNet& net, const Recurrence& past);

}  // namespace ferry::language
