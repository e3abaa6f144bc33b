#include <cmath>

#include "converter/reference/ops.h"

namespace ferry::reference {
namespace {

// Channel c of sample n at the place (y, x), bilinearly; 0 outside.
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
  const Array &map = *inputs[0], &weight = *inputs[1], &offsets = *inputs[3];
  const Array* mask = inputs.size() > 4 ? inputs[4] : nullptr;
  const Shape &xs = map.shape, &ws = weight.shape;
  const int64_t group_in = ws[3], group_out = ws[0] / p.groups(), block = xs[3] / p.offset_groups();
  for_each_place(output.shape, [&](size_t index, const Place& at) {
    const auto [n, oy, ox, o] = std::array{at[0], at[1], at[2], at[3]};
    double sum = inputs[2]->values[static_cast<size_t>(o)];
    for (int64_t ky = 0; ky < ws[1]; ++ky)
      for (int64_t kx = 0; kx < ws[2]; ++kx)
        for (int64_t i = 0; i < group_in; ++i) {
          const int64_t c = o / group_out * group_in + i;
          const int64_t cell = (c / block * ws[1] + ky) * ws[2] + kx;
          const auto top = static_cast<double>(oy * p.stride_h() - p.pad_top() + ky * p.dilation_h());
          const auto left = static_cast<double>(ox * p.stride_w() - p.pad_left() + kx * p.dilation_w());
          double value = sampled(map, n, top + offsets.values[index_of(offsets.shape, {n, oy, ox, 2 * cell})],
                                 left + offsets.values[index_of(offsets.shape, {n, oy, ox, 2 * cell + 1})], c);
          if (mask != nullptr) value *= mask->values[index_of(mask->shape, {n, oy, ox, cell})];
          sum += value * weight.values[index_of(ws, {o, ky, kx, i})];
        }
    output.values[index] = sum;
  });
}

}  // namespace ferry::reference
