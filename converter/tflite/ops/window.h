// Padding of convolutions and pools, which the file names and sizes determine.
#pragma once

#include "converter/tflite/op.h"

namespace ferry::tflite {

struct Padded {
  int32_t before = 0, after = 0;
};

// Along one side of `size` elements. SAME gives ceil(size / stride) positions; of an odd number of rows the larger half
// comes after.
Padded padding_of(schema::Padding padding, int64_t size, int64_t kernel, int64_t stride, int64_t dilation);

// Refuses strides and sizes below 1, or too large to compute with.
void check_window(const Op& op, std::initializer_list<int32_t> values);

// A channels-last map [N,H,W,C], or refuses.
Shape map_shape(const Op& op, size_t input);

}  // namespace ferry::tflite
