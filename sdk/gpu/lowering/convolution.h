// Common code of the convolutions; for conv2d and conv_transpose2d, the host side of shaders/conv.glsl.
#pragma once

#include "sdk/gpu/lowering/op.h"
#include "sdk/gpu/lowering/tiles.h"

namespace ferry::gpu {

// The sizes of a convolution or transposed convolution, in elements.
struct Convolution {
  bool transposed = false;
  uint32_t batch = 1, inputs = 1, outputs = 1, groups = 1;
  uint32_t input_height = 1, input_width = 1, output_height = 1, output_width = 1;
  uint32_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
  uint32_t pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;
  float min = 0, max = 0;  // the operator's own clamp

  uint32_t taps() const { return kernel_h * kernel_w; }
  uint32_t group_inputs() const { return inputs / groups; }
  uint32_t group_outputs() const { return outputs / groups; }
  uint64_t pixels() const { return uint64_t{batch} * output_height * output_width; }
  uint64_t flops() const;
};

// Params: fbs::Conv2d, fbs::ConvTranspose2d or fbs::DeformConv2d.
template <typename Params>
Convolution convolution_of(const Problem& problem, const Params& op) {
  const auto number = [](int32_t n) { return static_cast<uint32_t>(n); };
  const Shape &x = problem.inputs[0], &weight = problem.inputs[1], &y = problem.output;
  Convolution c;
  c.batch = number(x[0]);
  c.input_height = number(x[1]);
  c.input_width = number(x[2]);
  c.inputs = number(x[3]);
  c.output_height = number(y[1]);
  c.output_width = number(y[2]);
  c.outputs = number(y[3]);
  c.kernel_h = number(weight[1]);
  c.kernel_w = number(weight[2]);
  c.groups = number(op.groups());
  c.stride_h = number(op.stride_h());
  c.stride_w = number(op.stride_w());
  c.dilation_h = number(op.dilation_h());
  c.dilation_w = number(op.dilation_w());
  c.pad_top = number(op.pad_top());
  c.pad_left = number(op.pad_left());
  c.pad_bottom = number(op.pad_bottom());
  c.pad_right = number(op.pad_right());
  if constexpr (requires { op.output_min(); }) {
    c.min = op.output_min();
    c.max = op.output_max();
  }
  return c;
}

// FERRY_UNSUPPORTED: coordinates exceed 31 bits.
Status check_coordinates(const Convolution& convolution);

// Push constants after the epilogue's, for tiles of `tile_rows` pixels along the width, `tiles_x` per row. `columns`:
// tiles per workgroup along the output quads. Groups are counted in units of `unit` channels.
WordList push_of(const Convolution& convolution, uint32_t columns, uint32_t tiles_x, uint32_t unit, uint32_t bias);

// Kernels conv2d and conv_transpose2d. Groups must consist of whole quads. FERRY_UNSUPPORTED: fewer than `minimum`
// invocations.
Status lower_direct(const Problem& problem, const Convolution& convolution, RegisterTile tile, uint64_t minimum,
                    Lowering* out);
// Kernel conv2d_half; not for transposed convolutions.
Status lower_direct_in_float16(const Problem& problem, const Convolution& convolution, RegisterTile tile,
                               Lowering* out);
// Kernel conv2d_grouped: any groups.
Status lower_grouped(const Problem& problem, const Convolution& convolution, Lowering* out);

// In winograd.cc: F(tile x tile, 3x3) for one group, stride 1 and dilation 1.
Status lower_winograd(const Problem& problem, const Convolution& convolution, uint32_t tile, Lowering* out);

}  // namespace ferry::gpu
