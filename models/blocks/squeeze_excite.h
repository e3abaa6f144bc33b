// Squeeze-and-excitation (Hu et al., arXiv:1709.01507), with timm's module names.
#pragma once

#include <algorithm>

#include "converter/graph/ops.h"

namespace ferry {

// timm's make_divisible: the nearest multiple of `divisor`, at least `minimum`; the next multiple if that is less than
// `limit` * value.
inline int round_channels(double value, double limit = 0.9, int divisor = 8, int minimum = 8) {
  const int rounded = std::max(minimum, static_cast<int>(value + divisor / 2.0) / divisor * divisor);
  return rounded < limit * value ? rounded + divisor : rounded;
}

// Defaults to the names of timm's SEModule, which reduces to round_channels(ratio * channels, 0).
struct SqueezeExciteOptions {
  int reduced;  // channels between the two convolutions; 0: taken from the weights
  Tensor (*act)(Tensor) = relu;
  Tensor (*gate)(Tensor) = sigmoid;
  const char* pool_name = nullptr;  // null: the mean is not a module
  const char* reduce_name = "fc1";
  const char* act_name = "act";
  const char* expand_name = "fc2";
};

// x * gate(expand(act(reduce(mean of x over height and width)))); both convolutions are 1x1 and have biases.
inline Tensor squeeze_excite(Tensor x, const Weights& w, const SqueezeExciteOptions& o) {
  Tensor gate = global_avg_pool(x);
  if (o.pool_name) tap(gate, w[o.pool_name]);
  gate = conv2d(gate, w[o.reduce_name], {.out = o.reduced, .kernel = 1});
  gate = conv2d(tap(o.act(gate), w[o.act_name]), w[o.expand_name], {.out = channels(x), .kernel = 1});
  return tap(x * tap(o.gate(gate), w["gate"]), w);
}

}  // namespace ferry
