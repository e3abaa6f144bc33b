#include "models/language/latent_attention.h"

namespace ferry::language {
namespace {

constexpr RmsNorm kNorm = {.epsilon = 1e-6};  // transformers' default: rms_norm_eps does not apply

// From [1,L,heads,D] to [heads,L,D], and back.
Tensor heads_first(Tensor x) {
  const Shape shape = x.shape();
  return transpose(reshape(x, {-1, shape[2], shape[3]}), {1, 0, 2});
}
Tensor tokens_first(Tensor x) {
  const Shape shape = x.shape();
  return reshape(transpose(x, {1, 0, 2}), {1, -1, shape[0], shape[2]});
}

Tensor queries(Tensor x, const Weights& w, const LatentAttention& a, int heads) {
  const LinearOptions expanded = {.out = heads * (a.qk_nope_head_dim + a.qk_rope_head_dim), .bias = false};
  if (a.q_lora_rank == 0) return linear(x, w["q_proj"], expanded);
  x = linear(x, w["q_a_proj"], {.out = a.q_lora_rank, .bias = a.bias});
  return linear(rms_norm(x, w["q_a_layernorm"], kNorm), w["q_b_proj"], expanded);
}

}  // namespace

Tensor latent_attention(Tensor x, const Weights& w, const LatentAttention& a, int heads, const Rotation& rotate,
                        State latent) {
  const int width = channels(x), latent_width = a.kv_lora_rank + a.qk_rope_head_dim;
  const Tensor q = reshape(queries(x, w, a, heads), {0, 0, heads, a.qk_nope_head_dim + a.qk_rope_head_dim});
  const Tensor q_pe =
      rotate(reshape(slice(q, -1, a.qk_nope_head_dim, a.qk_rope_head_dim), {0, 0, heads * a.qk_rope_head_dim}), heads);

  const Tensor both = linear(x, w["kv_a_proj_with_mqa"], {.out = latent_width, .bias = a.bias});
  const Tensor kv_latent = rms_norm(slice(both, -1, 0, a.kv_lora_rank), w["kv_a_layernorm"], kNorm);
  const Tensor all =
      append(concat({kv_latent, rotate(slice(both, -1, a.kv_lora_rank, a.qk_rope_head_dim), 1)}), latent);

  const Tensor expansion = reshape(w["kv_b_proj"].matrix({heads * (a.qk_nope_head_dim + a.v_head_dim), a.kv_lora_rank}),
                                   {heads, a.qk_nope_head_dim + a.v_head_dim, a.kv_lora_rank});
  const Tensor to_keys = slice(expansion, 1, 0, a.qk_nope_head_dim),
               to_values = slice(expansion, 1, a.qk_nope_head_dim, a.v_head_dim);
  const Tensor q_nope = tokens_first(matmul(heads_first(slice(q, -1, 0, a.qk_nope_head_dim)), to_keys));
  const Tensor query = concat({q_nope, reshape(q_pe, {0, 0, heads, a.qk_rope_head_dim})});
  // The keys serve as values; the part of the output that belongs to the rotated channels is dropped.
  Tensor y = attention(reshape(query, {0, 0, heads * latent_width}), all, all,
                       {.heads = heads, .kv_heads = 1, .scale = a.scale, .causal = true});
  y = heads_first(slice(reshape(y, {0, 0, heads, latent_width}), -1, 0, a.kv_lora_rank));
  y = reshape(tokens_first(matmul(y, to_values, false, /*transpose_b=*/true)), {0, 0, heads * a.v_head_dim});
  return linear(y, w["o_proj"], {.out = width, .bias = a.bias});
}

}  // namespace ferry::language
