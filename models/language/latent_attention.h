// Multi-head latent attention (DeepSeek-AI, arXiv:2405.04434): the cache holds one short latent vector per token, from
// which each head's keys and values can be expanded.
//
// The expansion is absorbed into the queries: q * (K c) = (q K) * c. Attention thus has one key/value head, the latent
// vectors, shared by all query heads, and its output is expanded once. Prompts need more multiplications, but a new
// token needs no expansion of earlier ones.
#pragma once

#include "models/language/language_model.h"
#include "models/language/modules.h"

namespace ferry::language {

struct LatentAttention {
  int q_lora_rank;   // 0: no low-rank projection of the queries
  int kv_lora_rank;  // channels of the latent vector
  int qk_nope_head_dim, qk_rope_head_dim, v_head_dim;
  bool bias;
  double scale;  // of the attention scores
};

// x [1,L,C] to [1,L,C] through module `w`. `latent` is the cache: kv_lora_rank + qk_rope_head_dim channels.
Tensor latent_attention(Tensor x, const Weights& w, const LatentAttention& a, int heads, const Rotation& rotate,
                        State latent);

}  // namespace ferry::language
