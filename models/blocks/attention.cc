#include "models/blocks/attention.h"

#include <algorithm>

namespace ferry {
namespace {

using Bias = SelfAttentionOptions::Bias;

// Biases of query, key and value in one vector; the key's are zeros.
std::vector<double> query_value_bias(const Weights& w, int width) {
  const size_t count = static_cast<size_t>(width);
  std::vector<double> bias;
  if (w["qkv"].has("bias")) {
    // DINOv3's checkpoints store one vector and a mask; the mask zeroes the key's biases.
    bias = w["qkv"].values("bias", 3 * width);
    w["qkv.bias_mask"].discard();
  } else {
    bias = w.values("q_bias", width);
    bias.resize(2 * count);
    const std::vector<double> value = w.values("v_bias", width);
    bias.insert(bias.end(), value.begin(), value.end());
  }
  std::fill_n(bias.begin() + static_cast<std::ptrdiff_t>(count), count, 0.0);
  return bias;
}

Tensor norm_heads(Tensor x, const Weights& w, const SelfAttentionOptions& o) {
  if (!w.has("weight")) return x;
  const int width = channels(x);
  x = layer_norm(reshape(x, {0, 0, o.heads, width / o.heads}), w, o.epsilon);
  return reshape(x, {0, 0, width});
}

}  // namespace

Projected project(Tensor x, const Weights& w, SelfAttentionOptions::Bias bias,
                  const std::optional<SelfAttentionOptions::Biases>& each) {
  const int width = channels(x);
  if (!w["qkv"].has("weight") && w["q_proj"].has("weight")) {
    const bool biased = bias != Bias::None;
    const auto of = each.value_or(SelfAttentionOptions::Biases{biased, bias == Bias::QueryKeyValue, biased, true});
    return {linear(x, w["q_proj"], {.out = width, .bias = of.query}),
            linear(x, w["k_proj"], {.out = width, .bias = of.key}),
            linear(x, w["v_proj"], {.out = width, .bias = of.value})};
  }
  Tensor qkv = linear(x, w["qkv"], {.out = 3 * width, .bias = bias == Bias::QueryKeyValue});
  if (bias == Bias::QueryValue)
    qkv = qkv + w.graph().add_constant(w.name() + ".qkv_bias", Shape{3 * width}, query_value_bias(w, width));
  return {slice(qkv, -1, 0, width), slice(qkv, -1, width, width), slice(qkv, -1, 2 * width, width)};
}

Tensor self_attention(Tensor x, const Weights& w, const SelfAttentionOptions& o) {
  auto [q, k, v] = project(x, w, o.bias, o.each);
  q = norm_heads(q, w["q_norm"], o);
  k = norm_heads(k, w["k_norm"], o);
  if (o.rotary) {
    q = rotary_embedding(q, o.rotary->cos, o.rotary->sin, o.heads, o.rotary->interleaved);
    k = rotary_embedding(k, o.rotary->cos, o.rotary->sin, o.heads, o.rotary->interleaved);
  }
  const Tensor mixed = attention(q, k, v, {.heads = o.heads}, o.biases);
  return tap(linear(mixed, w["proj"], {.out = channels(x), .bias = !o.each || o.each->output}), w);
}

}  // namespace ferry
