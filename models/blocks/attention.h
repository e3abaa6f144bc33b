// Multi-head self-attention of vision transformers, with timm's module names.
#pragma once

#include <optional>
#include <vector>

#include "converter/graph/ops.h"

namespace ferry {

// Rotary position embedding: constants [L, channels of a head].
struct RotaryTable {
  Tensor cos, sin;
  bool interleaved = false;
};

struct SelfAttentionOptions {
  int heads = 1;
  enum class Bias {
    None,
    QueryKeyValue,
    // keys have no bias; with fused weights: "q_bias" and "v_bias" (BEiT) or "qkv.bias" with a mask (DINOv3)
    QueryValue
  } bias = Bias::QueryKeyValue;
  // Overrides `bias` for checkpoints with four separate linear layers.
  struct Biases {
    bool query, key, value, output;
    bool operator==(const Biases&) const = default;
  };
  std::optional<Biases> each = {};
  double epsilon = 1e-6;  // of q_norm and k_norm, which normalize each head; used if the checkpoint has them
  const RotaryTable* rotary = nullptr;
  std::vector<Tensor> biases = {};  // as in attention()
};

struct Projected {
  Tensor q, k, v;
};

// Returns queries, keys and values of x [...,C]. The checkpoint stores one linear layer "qkv", or three: "q_proj",
// "k_proj" and "v_proj".
Projected project(Tensor x, const Weights& w, SelfAttentionOptions::Bias bias,
                  const std::optional<SelfAttentionOptions::Biases>& each = {});

// x N,L,C to N,L,C.
Tensor self_attention(Tensor x, const Weights& w, const SelfAttentionOptions& options);

}  // namespace ferry
