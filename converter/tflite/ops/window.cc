#include "converter/tflite/ops/window.h"

#include <algorithm>

namespace ferry::tflite {

Padded padding_of(schema::Padding padding, int64_t size, int64_t kernel, int64_t stride, int64_t dilation) {
  if (padding == schema::Padding::VALID) return {};
  const int64_t positions = (size + stride - 1) / stride, reach = (kernel - 1) * dilation + 1;
  const int64_t all = std::max<int64_t>((positions - 1) * stride + reach - size, 0);
  return {static_cast<int32_t>(all / 2), static_cast<int32_t>(all - all / 2)};
}

void check_window(const Op& op, std::initializer_list<int32_t> values) {
  constexpr int32_t kLargest = 1 << 15;
  for (const int32_t value : values)
    if (value < 1 || value > kLargest)
      op.refuse("a stride, dilation or kernel size is %d, expected 1 to %d", value, kLargest);
}

Shape map_shape(const Op& op, size_t input) {
  const Shape shape = op.shape(input);
  if (shape.rank != 4) op.refuse("input %zu has %d dimensions, expected 4", input, shape.rank);
  return shape;
}

}  // namespace ferry::tflite
