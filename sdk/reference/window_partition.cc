#include "sdk/reference/ops.h"

namespace ferry::reference {
namespace {

// visit(pixel's index in the image, its index among the windows) for every element of `image`.
template <typename Params, typename Visit>
void for_each_pixel(const Params& p, const Shape& image, const Visit& visit) {
  const int64_t across = image[2] / p.window_w(), down = image[1] / p.window_h();
  const Shape windows{static_cast<int32_t>(image[0] * down * across), p.window_h() * p.window_w(), image[3]};
  for_each_element(image, [&](size_t index, const Coordinates& at) {
    const int64_t y = (at[1] - p.shift_h() + image[1]) % image[1];
    const int64_t x = (at[2] - p.shift_w() + image[2]) % image[2];
    const int64_t window = (at[0] * down + y / p.window_h()) * across + x / p.window_w();
    visit(index, index_of(windows, {window, y % p.window_h() * p.window_w() + x % p.window_w(), at[3]}));
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
