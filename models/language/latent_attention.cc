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
  const LinearOptions expanded = {.out = heads * (a.plain + a.turned), .bias = false};
  if (a.query_rank == 0) return linear(x, w["q_proj"], expanded);
  x = linear(x, w["q_a_proj"], {.out = a.query_rank, .bias = a.bias});
  return linear(rms_norm(x, w["q_a_layernorm"], kNorm), w["q_b_proj"], expanded);
}

}  // namespace

Tensor latent_attention(Tensor x, const Weights& w, const LatentAttention& a, int heads, const Rotation& rotate,
                        State latent) {
  const int width = channels(x), kept = a.rank + a.turned;
  const Tensor q = reshape(queries(x, w, a, heads), {0, 0, heads, a.plain + a.turned});
  const Tensor turned = rotate(reshape(slice(q, -1, a.plain, a.turned), {0, 0, heads * a.turned}), heads);

  const Tensor both = linear(x, w["kv_a_proj_with_mqa"], {.out = kept, .bias = a.bias});
  const Tensor vector = rms_norm(slice(both, -1, 0, a.rank), w["kv_a_layernorm"], kNorm);
  const Tensor all = append(concat({vector, rotate(slice(both, -1, a.rank, a.turned), 1)}), latent);

  const Tensor expansion =
      reshape(w["kv_b_proj"].matrix({heads * (a.plain + a.value), a.rank}), {heads, a.plain + a.value, a.rank});
  const Tensor to_keys = slice(expansion, 1, 0, a.plain), to_values = slice(expansion, 1, a.plain, a.value);
  const Tensor plain = tokens_first(matmul(heads_first(slice(q, -1, 0, a.plain)), to_keys));
  const Tensor met = concat({plain, reshape(turned, {0, 0, heads, a.turned})});
  // The keys serve as values; the part of the output that belongs to the rotated channels is dropped.
  Tensor y = attention(reshape(met, {0, 0, heads * kept}), all, all,
                       {.heads = heads, .kv_heads = 1, .scale = a.scale, .causal = true});
  y = heads_first(slice(reshape(y, {0, 0, heads, kept}), -1, 0, a.rank));
  y = reshape(tokens_first(matmul(y, to_values, false, /*transpose_b=*/true)), {0, 0, heads * a.value});
  return linear(y, w["o_proj"], {.out = width, .bias = a.bias});
}

}  // namespace ferry::language
