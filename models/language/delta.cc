#include "models/language/delta.h"

#include <cmath>

#include "converter/error.h"

namespace ferry::language {
namespace {

struct Inputs {
  Tensor qkv;   // queries, keys, values
  Tensor gate;  // of the output
  Tensor beta, decay;
};

Inputs project(Tensor x, const Weights& w, const DeltaNet& c) {
  const auto product = [&](const char* name, int out) { return linear(x, w[name], {.out = out, .bias = false}); };
  const int qkv = 2 * c.keys() + c.values();
  if (!c.fused)
    return {product("in_proj_qkv", qkv), product("in_proj_z", c.values()), product("in_proj_b", c.value_heads),
            product("in_proj_a", c.value_heads)};
  const int group = c.value_heads / c.key_heads, values = group * c.value_size;
  const auto by_key_head = [&](const char* name, int out) {
    return reshape(product(name, out), {0, 0, c.key_heads, out / c.key_heads});
  };
  const auto part = [&](Tensor heads, int begin, int size) {
    return reshape(slice(heads, -1, begin, size), {0, 0, c.key_heads * size});
  };
  const Tensor qkvz = by_key_head("in_proj_qkvz", qkv + c.values());
  const Tensor ba = by_key_head("in_proj_ba", 2 * c.value_heads);
  return {concat({part(qkvz, 0, c.key_size), part(qkvz, c.key_size, c.key_size), part(qkvz, 2 * c.key_size, values)}),
          part(qkvz, 2 * c.key_size + values, values), part(ba, 0, group), part(ba, group, group)};
}

// Logarithm of the decay: -e^A_log * softplus(x + dt_bias).
Tensor log_decay(Tensor x, const Weights& w, int heads) {
  std::vector<double> rates = w.values("A_log", heads);
  for (double& rate : rates) rate = -std::exp(rate);
  return softplus(x + w("dt_bias", {heads})) * w.graph().add_constant(w.name() + ".A", {heads}, std::move(rates));
}

}  // namespace

DeltaNet delta_net_of(const Configuration& s, Tensor (*activation)(Tensor), double epsilon) {
  DeltaNet c{.key_heads = s.count("linear_num_key_heads", 16),
             .key_size = s.count("linear_key_head_dim", 128),
             .value_heads = s.count("linear_num_value_heads", 32),
             .value_size = s.count("linear_value_head_dim", 128),
             .kernel = s.count("linear_conv_kernel_dim", 4),
             .activation = activation,
             .epsilon = epsilon};
  if (c.value_heads % c.key_heads != 0)
    fail("%s: linear_num_value_heads is %d, expected a multiple of linear_num_key_heads %d", s.where(), c.value_heads,
         c.key_heads);
  if (c.kernel < 2) fail("%s: linear_conv_kernel_dim is %d, expected at least 2", s.where(), c.kernel);
  s.product("linear_key_head_dim", c.key_heads, c.key_size);
  s.product("linear_value_head_dim", c.value_heads, c.value_size);
  return c;
}

Recurrence recurrence_of(const DeltaNet& c, const Text& text, size_t layer) {
  return text.recurrence(layer, {1, c.kernel - 1, 2 * c.keys() + c.values()},
                         {2, 1, c.value_heads, c.key_size, c.value_size});
}

Tensor delta_net(Tensor x, const Weights& w, const DeltaNet& c, const Recurrence& past) {
  const int width = channels(x);
  const Inputs p = project(x, w, c);
  const Tensor qkv = c.activation(causal_conv1d(p.qkv, w["conv1d"], past.inputs, {.kernel = c.kernel, .bias = false}));
  const Tensor q = l2_norm_heads(slice(qkv, -1, 0, c.keys()), c.key_heads, 1 / std::sqrt(c.key_size));
  const Tensor k = l2_norm_heads(slice(qkv, -1, c.keys(), c.keys()), c.key_heads);
  const Tensor v = slice(qkv, -1, 2 * c.keys(), c.values());
  const Tensor y = gated_delta_rule(q, k, v, log_decay(p.decay, w, c.value_heads), sigmoid(p.beta), past.memory);
  const auto heads = [&](Tensor all) { return reshape(all, {-1, c.value_size}); };
  const Tensor gated = gated_rms_norm(heads(y), heads(p.gate), w["norm"], {.epsilon = c.epsilon});
  return tap(linear(reshape(gated, {1, -1, c.values()}), w["out_proj"], {.out = width, .bias = false}), w);
}

}  // namespace ferry::language
