#include <algorithm>
#include <limits>

#include "sdk/reference/ops.h"

namespace ferry::reference {

void pool2d(const fbs::Operator& op, Inputs inputs, Array& output) {
  const fbs::Pool2d& p = *op.params_as_Pool2d();
  const bool max = p.kind() == fbs::PoolKind::Max;
  const bool count_padding = p.count_include_pad();
  const int64_t stride_h = p.stride_h(), stride_w = p.stride_w(), kernel_h = p.kernel_h(), kernel_w = p.kernel_w();
  const int64_t pad_top = p.pad_top(), pad_left = p.pad_left(), pad_bottom = p.pad_bottom(), pad_right = p.pad_right();
  const Shape& xs = inputs[0]->shape;
  for_each_element(output.shape, [&](size_t index, const Coordinates& at) {
    const int64_t top = at[1] * stride_h - pad_top, left = at[2] * stride_w - pad_left;
    // PyTorch's divisor: cells of the input and its padding, not those that ceil_mode adds beyond.
    const int64_t bottom = std::min(top + kernel_h, xs[1] + pad_bottom);
    const int64_t right = std::min(left + kernel_w, xs[2] + pad_right);
    double result = max ? -std::numeric_limits<double>::infinity() : 0.0;
    int64_t real = 0;
    for (int64_t y = std::max<int64_t>(top, 0); y < std::min<int64_t>(bottom, xs[1]); ++y)
      for (int64_t x = std::max<int64_t>(left, 0); x < std::min<int64_t>(right, xs[2]); ++x) {
        const double cell = inputs[0]->values[index_of(xs, {at[0], y, x, at[3]})];
        result = max ? maximum(result, cell) : result + cell;
        ++real;
      }
    const int64_t divisor = count_padding ? (bottom - top) * (right - left) : real;
    output.values[index] = max ? result : result / static_cast<double>(divisor);
  });
}

}  // namespace ferry::reference
