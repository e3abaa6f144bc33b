#version 450
// Depthwise convolution: weights [KH][KW][C/4]. Per invocation: kTileRows neighbouring pixels of an output row x 1
// quad.
#include "common.glsl"
#include "epilogue.glsl"
#include "tile.glsl"
#include "conv.glsl"

// Tiles of several pixels read each input once per row; their kernel size is constant, and dilation is 1.
layout(constant_id = 9) const uint kKernelW = 1;
layout(constant_id = 10) const uint kStrideW = 1;

layout(push_constant) uniform Push { CONV_PUSH } push;
EPILOGUE

void main() {
  const uint i = linear_index();
  if (i >= push.tiles * push.row_quads) return;
  const uint quad = i % push.row_quads, tile = i / push.row_quads;
  const uint line = tile / push.tiles_x, first_x = tile % push.tiles_x * kTileRows;
  const int image = int(line / push.output_height) * push.input_height;
  const int left = source(int(first_x), 0, push.stride_w, push.dilation_w, push.pad_left);

  vec4 sums[kTileRows];
  const vec4 bias = LOAD_BIAS(quad);
  [[unroll]] for (uint r = 0; r < kTileRows; ++r) sums[r] = bias;
  for (uint ky = 0; ky < push.kernel_h; ++ky) {
    const int y = source(int(line % push.output_height), int(ky), push.stride_h, push.dilation_h, push.pad_top);
    if (!inside(y, push.input_height)) continue;
    const uint inputs = uint((image + y) * push.input_width), weights = ky * push.kernel_w;
    if (kTileRows == 1) {
      for (uint kx = 0; kx < push.kernel_w; ++kx) {
        const int x = left + int(kx) * push.dilation_w;
        if (inside(x, push.input_width))
          sums[0] += LOAD_INPUT((inputs + uint(x)) * push.row_quads + quad) *
                     LOAD_WEIGHT((weights + kx) * push.row_quads + quad);
      }
    } else {
      vec4 w[kKernelW];
      [[unroll]] for (uint kx = 0; kx < kKernelW; ++kx) w[kx] = LOAD_WEIGHT((weights + kx) * push.row_quads + quad);
      [[unroll]] for (uint column = 0; column < (kTileRows - 1) * kStrideW + kKernelW; ++column) {
        const int x = left + int(column);
        const vec4 value =
            inside(x, push.input_width) ? LOAD_INPUT((inputs + uint(x)) * push.row_quads + quad) : vec4(0);
        [[unroll]] for (uint r = 0; r < kTileRows; ++r)
          if (column >= r * kStrideW && column - r * kStrideW < kKernelW) sums[r] += value * w[column - r * kStrideW];
      }
    }
  }
  [[unroll]] for (uint r = 0; r < kTileRows; ++r) {
    const uint pixel = line * push.output_width + first_x + r;
    if (first_x + r < push.output_width) STORE_OUTPUT(pixel * push.row_quads + quad, epilogue(sums[r], pixel, quad));
  }
}
