// Windows of convolutions and pools. Ferry's operators are 2D: one dimension is a map of height 1, three dimensions are
// maps per position along the depth.
#pragma once

#include "converter/onnx/op.h"

namespace ferry::onnx {

// One spatial dimension.
struct Side {
  int64_t size = 1;  // of the input
  int64_t kernel = 1, stride = 1, dilation = 1;
  int64_t before = 0, after = 0;  // padding; cropping for transposed convolutions

  int64_t reach() const { return (kernel - 1) * dilation + 1; }
  // Number of windows. With ceil_mode, one partial window is included if it begins within the input or the padding
  // before it.
  int64_t outputs(bool ceil_mode = false) const;
};

// Reads strides, dilations, pads and auto_pad for a kernel of that size; refuses invalid ones.
std::vector<Side> read_sides(Op& op, const std::vector<int64_t>& kernel);
// A list of positive integers, one per side.
std::vector<int64_t> read_positive(Op& op, const std::string& name, size_t sides);

// The input of kernel cell `cell`: `x` at positions i * stride + cell * dilation along `axis`, for i < outputs; `fill`
// outside of the input.
Tensor input_of_cell(Op& op, Tensor x, int axis, const Side& side, int64_t outputs, int64_t cell, double fill);

// [N,C,W], [N,C,H,W] or [N,C,D,H,W] as maps: [N,1,W,C], [N,H,W,C] or [N*D,H,W,C].
Tensor to_maps(Tensor x);
// The inverse; `samples` is N.
Tensor from_maps(Tensor maps, size_t sides, int64_t samples);

// Sets the parameters of the last two sides, height and width.
template <typename Params>
void set_window(const std::vector<Side>& sides, Params* p) {
  const Side width = sides.back(), height = sides.size() > 1 ? sides[sides.size() - 2] : Side{};
  p->stride_h = static_cast<int32_t>(height.stride);
  p->stride_w = static_cast<int32_t>(width.stride);
  p->pad_top = to_int32({height.before})[0];
  p->pad_left = to_int32({width.before})[0];
  p->pad_bottom = to_int32({height.after})[0];
  p->pad_right = to_int32({width.after})[0];
}

template <typename Params>
void set_dilation(const std::vector<Side>& sides, Params* p) {
  p->dilation_h = static_cast<int32_t>(sides.size() > 1 ? sides[sides.size() - 2].dilation : 1);
  p->dilation_w = static_cast<int32_t>(sides.back().dilation);
}

}  // namespace ferry::onnx
