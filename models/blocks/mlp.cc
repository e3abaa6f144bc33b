#include "models/blocks/mlp.h"

namespace ferry {

Tensor mlp(Tensor x, const Weights& w, const MlpOptions& o) {
  const int out = channels(x);
  const auto product = [&](const Weights& fc, int features) {
    x = o.conv ? conv2d(x, fc, {.out = features, .kernel = 1, .bias = o.bias})
               : linear(x, fc, {.out = features, .bias = o.bias});
  };
  product(w["fc1"], o.hidden);
  x = tap(o.act(x), w["act"]);
  if (o.grn) x = grn(x, w["grn"]);
  product(w["fc2"], out);
  return tap(x, w);
}

Tensor swiglu_packed(Tensor x, const Weights& w, int hidden) {
  const int out = channels(x);
  const Tensor both = linear(x, w["fc1"], {.out = 2 * hidden});
  const int half = channels(both) / 2, axis = both.shape().rank - 1;
  const Tensor gate = tap(silu(slice(both, axis, 0, half)), w["act"]);
  return tap(linear(gate * slice(both, axis, half, half), w["fc2"], {.out = out}), w);
}

Tensor swiglu(Tensor x, const Weights& w, const MlpOptions& o) {
  const Tensor gate = linear(x, w["fc1_g"], {.out = o.hidden, .bias = o.bias});
  const Tensor value = linear(x, w["fc1_x"], {.out = o.hidden, .bias = o.bias});
  return tap(linear(tap(o.act(gate), w["act"]) * value, w["fc2"], {.out = channels(x), .bias = o.bias}), w);
}

Tensor quick_gelu(Tensor x) { return x * sigmoid(x * 1.702); }

}  // namespace ferry
