// Gated DeltaNet (Yang, Kautz and Hatamizadeh, arXiv:2412.06464) as Qwen3-Next has it: instead of keys and values of
// all tokens, a layer keeps a matrix a head, which every token decays and corrects.
#pragma once

#include "models/language/config.h"
#include "models/language/language_model.h"
#include "models/language/modules.h"

namespace ferry::language {

struct DeltaNet {
  int key_heads, key_size;      // of queries and keys: how many, and channels of one
  int value_heads, value_size;  // of values: a multiple of key_heads
  int kernel;                   // tokens that the convolution before it sees
  Tensor (*activation)(Tensor);
  double epsilon;
  // in_proj_qkvz and in_proj_ba, in which the rows of a key head and its value heads stand together, in place of four
  // products.
  bool fused = false;

  int keys() const { return key_heads * key_size; }
  int values() const { return value_heads * value_size; }
};

// The `linear_` settings of the file. Throws Error where it does not hold to the above.
DeltaNet delta_net_of(const Configuration& config, Tensor (*activation)(Tensor), double epsilon);

// What layer `layer` keeps.
Recurrence recurrence_of(const DeltaNet& net, const Text& text, size_t layer);

Tensor delta_net(Tensor x, const Weights& w, const DeltaNet& net, const Recurrence& past);

}  // namespace ferry::language
