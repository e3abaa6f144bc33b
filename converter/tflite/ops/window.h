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

template <typename Params>
void set_padding(Params* params, Padded rows, Padded columns) {
  params->pad_top = rows.before;
  params->pad_bottom = rows.after;
  params->pad_left = columns.before;
  params->pad_right = columns.after;
}

// Refuses strides and sizes below 1, or too large to compute with.
void check_window(const Op& op, std::initializer_list<int32_t> values);

// A channels-last map [N,H,W,C], or refuses.
Shape map_shape(const Op& op, size_t input);

// The transposed convolution of x [N,H,W,I] with a filter O,H,W,I to maps of `height` and `width`, whose forward
// convolution would have this padding. `bias`: input `bias_input` is one.
Tensor transposed(const Op& op, Tensor x, Tensor filter, schema::Padding padding, int32_t stride_h, int32_t stride_w,
                  int32_t height, int32_t width, bool bias, size_t bias_input);

}  // namespace ferry::tflite
