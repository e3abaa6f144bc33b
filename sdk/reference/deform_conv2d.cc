#include <cmath>

#include "sdk/reference/ops.h"

namespace ferry::reference {
namespace {

// Channel c of sample n at (y, x), bilinearly; 0 outside.
double sampled(const Array& map, int64_t n, double y, double x, int64_t c) {
  const Shape& shape = map.shape;
  if (!(y > -1 && y < shape[1] && x > -1 && x < shape[2])) return 0;
  const double top = std::floor(y), left = std::floor(x);
  double sum = 0;
  for (int64_t corner = 0; corner < 4; ++corner) {
    const int64_t row = static_cast<int64_t>(top) + corner / 2, column = static_cast<int64_t>(left) + corner % 2;
    if (row < 0 || row >= shape[1] || column < 0 || column >= shape[2]) continue;
    const double down = y - top, right = x - left;
    sum += (corner / 2 ? down : 1 - down) * (corner % 2 ? right : 1 - right) *
           map.values[index_of(shape, {n, row, column, c})];
  }
  return sum;
}

}  // namespace

void deform_conv2d(const fbs::Operator& op, Inputs inputs, Array& output) {
  const fbs::DeformConv2d& p = *op.params_as_DeformConv2d();
  const int64_t stride_h = p.stride_h(), stride_w = p.stride_w(), dilation_h = p.dilation_h(),
                dilation_w = p.dilation_w();
  const int64_t pad_top = p.pad_top(), pad_left = p.pad_left();
  const Array &map = *inputs[0], &weight = *inputs[1], &offsets = *inputs[3];
  const Array* mask = inputs.size() > 4 ? inputs[4] : nullptr;
  const Shape &xs = map.shape, &ws = weight.shape;
  const int64_t group_in = ws[3], group_out = ws[0] / p.groups(), block = xs[3] / p.offset_groups();
  const int64_t cells = int64_t{ws[1]} * ws[2], channels = xs[3];
  std::vector<double> seen(static_cast<size_t>(cells * channels));  // at a pixel of the output
  for_each_element({output.shape[0], output.shape[1], output.shape[2]}, [&](size_t index, const Coordinates& at) {
    const auto [n, oy, ox] = std::array{at[0], at[1], at[2]};
    for (int64_t k = 0; k < cells; ++k)
      for (int64_t c = 0; c < channels; ++c) {
        const int64_t cell = c / block * cells + k;
        const auto y = static_cast<double>(oy * stride_h - pad_top + k / ws[2] * dilation_h);
        const auto x = static_cast<double>(ox * stride_w - pad_left + k % ws[2] * dilation_w);
        double& value = seen[static_cast<size_t>(k * channels + c)];
        value = sampled(map, n, y + offsets.values[index_of(offsets.shape, {n, oy, ox, 2 * cell})],
                        x + offsets.values[index_of(offsets.shape, {n, oy, ox, 2 * cell + 1})], c);
        if (mask != nullptr) value *= mask->values[index_of(mask->shape, {n, oy, ox, cell})];
      }
    for (int64_t o = 0; o < ws[0]; ++o) {
      double sum = inputs[2]->values[static_cast<size_t>(o)];
      for (int64_t k = 0; k < cells; ++k)
        for (int64_t i = 0; i < group_in; ++i)
          sum += seen[static_cast<size_t>(k * channels + o / group_out * group_in + i)] *
                 weight.values[static_cast<size_t>((o * cells + k) * group_in + i)];
      output.values[index * static_cast<size_t>(ws[0]) + static_cast<size_t>(o)] = sum;
    }
  });
}

}  // namespace ferry::reference
