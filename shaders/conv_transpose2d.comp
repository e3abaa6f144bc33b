#version 450
// Transposed convolution; each output gathers the inputs that contribute to it. Weights [O/4][KH][KW][I/4][4 of I], I
// per group. Per invocation: kTileRows pixels of an output row, a stride apart, so that they use the same taps, x
// kTileQuads output quads of one group.
#include "common.glsl"
#include "epilogue.glsl"
#include "tile.glsl"
#include "conv.glsl"

layout(push_constant) uniform Push { CONV_PUSH } push;
EPILOGUE

void main() {
  const uvec2 tile = tile_of_invocation(push.columns, push.row_quads) * uvec2(kTileQuads, 1);
  if (tile.x >= push.row_quads || tile.y >= push.tiles) return;
  const uint line = tile.y / push.tiles_x, stride = uint(push.stride_w);
  const uint along = tile.y % push.tiles_x, first_x = along / stride * kTileRows * stride + along % stride;
  const int image = int(line / push.output_height) * push.input_height;
  const uint group = tile.x / push.group_outputs;

  uint weights[kTileQuads];
  vec4 sums[kTileRows * kTileQuads];
  [[unroll]] for (uint q = 0; q < kTileQuads; ++q) {
    const uint quad = min(tile.x + q, push.row_quads - 1);  // beyond the edge: repeats the last one, not stored
    weights[q] = quad * push.kernel_h * push.kernel_w * push.group_inputs * 4;
    const vec4 bias = LOAD_BIAS(quad);
    [[unroll]] for (uint r = 0; r < kTileRows; ++r) sums[r * kTileQuads + q] = bias;
  }
  for (uint ky = 0; ky < push.kernel_h; ++ky) {
    const int y =
        transposed_source(int(line % push.output_height), int(ky), push.stride_h, push.dilation_h, push.pad_top);
    if (!inside(y, push.input_height)) continue;
    for (uint kx = 0; kx < push.kernel_w; ++kx) {
      const uint from = first_x + uint(push.pad_left), back = kx * uint(push.dilation_w);
      if (from % stride != back % stride) continue;
      const uint tap = (ky * push.kernel_w + kx) * push.group_inputs;
      bool reads[kTileRows];
      uint inputs[kTileRows];
      [[unroll]] for (uint r = 0; r < kTileRows; ++r) {
        const int x = (int(from) - int(back)) / push.stride_w + int(r);
        reads[r] = inside(x, push.input_width);
        inputs[r] = uint((image + y) * push.input_width + x) * push.input_quads + group * push.group_inputs;
      }
      for (uint i = 0; i < push.group_inputs; ++i) {
        vec4 x[kTileRows];
        [[unroll]] for (uint r = 0; r < kTileRows; ++r) x[r] = reads[r] ? LOAD_INPUT(inputs[r] + i) : vec4(0);
        [[unroll]] for (uint q = 0; q < kTileQuads; ++q) {
          const Weights4 w = LOAD_WEIGHTS4(weights[q] + (tap + i) * 4);
          [[unroll]] for (uint r = 0; r < kTileRows; ++r)
            sums[r * kTileQuads + q] = multiply_add(sums[r * kTileQuads + q], x[r], w);
        }
      }
    }
  }
  [[unroll]] for (uint r = 0; r < kTileRows; ++r)
    [[unroll]] for (uint q = 0; q < kTileQuads; ++q) {
      const uint x = first_x + r * stride, pixel = line * push.output_width + x, quad = tile.x + q;
      if (x < push.output_width && quad < push.row_quads)
        STORE_OUTPUT(pixel * push.row_quads + quad, epilogue(sums[r * kTileQuads + q], pixel, quad));
    }
}
