// Multi-head self-attention of vision transformers, in timm's names.
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
    QueryValue  // keys have none; beside fused weights the others are "q_bias" and "v_bias" (BEiT's descendants) or a
                // masked "qkv.bias" (DINOv3's own checkpoints)
  } bias = Bias::QueryKeyValue;
  // Of queries, keys, values and the output, where the checkpoint has four products and they are not what `bias` says.
  struct Biases {
    bool query, key, value, output;
    bool operator==(const Biases&) const = default;
  };
  std::optional<Biases> each = {};
  double epsilon = 1e-6;  // of q_norm and k_norm, which normalize each head and are there if the checkpoint has them
  const RotaryTable* rotary = nullptr;
  std::vector<Tensor> biases = {};  // as in attention()
};

struct Projected {
  Tensor q, k, v;
};

// Queries, keys and values of x [...,C]. The checkpoint says whether they are one product, "qkv", or three: "q_proj",
// "k_proj" and "v_proj".
Projected project(Tensor x, const Weights& w, SelfAttentionOptions::Bias bias,
                  const std::optional<SelfAttentionOptions::Biases>& each = {});

// x N,L,C to N,L,C.
Tensor self_attention(Tensor x, const Weights& w, const SelfAttentionOptions& options);

}  // namespace ferry
