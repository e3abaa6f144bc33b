#include "sdk/reference/ops.h"

namespace ferry::reference {
namespace {

// visit(pixel's index in the image, its index among the windows) for every element of `image`.
template <typename Params, typename Visit>
void for_each_pixel(const Params& p, const Shape& image, const Visit& visit) {
  const int32_t height = p.window_h(), width = p.window_w();
  const int64_t shift_h = p.shift_h(), shift_w = p.shift_w();
  const int64_t across = image[2] / width, down = image[1] / height;
  const Shape windows{static_cast<int32_t>(image[0] * down * across), height * width, image[3]};
  for_each_element(image, [&](size_t index, const Coordinates& at) {
    const int64_t y = (at[1] - shift_h + image[1]) % image[1];
    const int64_t x = (at[2] - shift_w + image[2]) % image[2];
    const int64_t window = (at[0] * down + y / height) * across + x / width;
    visit(index, index_of(windows, {window, y % height * width + x % width, at[3]}));
  });
}

}  // namespace

void window_partition(const fbs::Operator& op, Inputs inputs, Array& output) {
  for_each_pixel(*op.params_as_WindowPartition(), inputs[0]->shape,
                 [&](size_t pixel, size_t cell) { output.values[cell] = inputs[0]->values[pixel]; });
}

void window_reverse(const fbs::Operator& op, Inputs inputs, Array& output) {
  for_each_pixel(*op.params_as_WindowReverse(), output.shape,
                 [&](size_t pixel, size_t cell) { output.values[pixel] = inputs[0]->values[cell]; });
}

}  // namespace ferry::reference
