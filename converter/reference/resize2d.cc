#include <algorithm>
#include <cmath>

#include "converter/reference/ops.h"

namespace ferry::reference {
namespace {

struct Sample {
  int64_t first, second;
  double weight;  // of the second
};

// PyTorch's interpolate(align_corners=False): output centre (i + 0.5) / scale - 0.5, not below 0; cells past the end are
// the last one.
Sample sample(int64_t i, double scale, int64_t size) {
  const double centre = std::max(0.0, (static_cast<double>(i) + 0.5) / scale - 0.5);
  const auto first = static_cast<int64_t>(std::floor(centre));
  return {first, std::min(first + 1, size - 1), centre - std::floor(centre)};
}

}  // namespace

void resize2d(const fbs::Operator& op, Inputs inputs, Array& output) {
  const fbs::Resize2d& p = *op.params_as_Resize2d();
  const Shape& xs = inputs[0]->shape;
  const auto cell = [&](const Place& at, int64_t y, int64_t x) {
    return inputs[0]->values[index_of(xs, {at[0], y, x, at[3]})];
  };
  for_each_place(output.shape, [&](size_t index, const Place& at) {
    if (p.kind() == fbs::ResizeKind::Nearest) {
      output.values[index] = cell(at, at[1] / p.scale_h(), at[2] / p.scale_w());
      return;
    }
    const Sample y = sample(at[1], p.scale_h(), xs[1]), x = sample(at[2], p.scale_w(), xs[2]);
    const double top = cell(at, y.first, x.first) * (1 - x.weight) + cell(at, y.first, x.second) * x.weight;
    const double bottom = cell(at, y.second, x.first) * (1 - x.weight) + cell(at, y.second, x.second) * x.weight;
    output.values[index] = top * (1 - y.weight) + bottom * y.weight;
  });
}

}  // namespace ferry::reference
