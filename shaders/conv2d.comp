#version 450
// Direct convolution: weights [O/4][KH][KW][I/4][4 of I], I per group. Per invocation: kTileRows neighbouring pixels of
// an output row x kTileQuads output quads of one group.
#include "common.glsl"
#include "epilogue.glsl"
#include "tile.glsl"
#include "conv.glsl"

layout(push_constant) uniform Push { CONV_PUSH } push;
EPILOGUE

#define ADD_QUAD(i)                                                                                              \
  TERM x[kTileRows];                                                                                             \
  [[unroll]] for (uint r = 0; r < kTileRows; ++r) x[r] = reads[r] ? LOAD_INPUT_TERM(inputs[r] + i) : TERM(0);    \
  [[unroll]] for (uint q = 0; q < kTileQuads; ++q) {                                                             \
    const Weights4 w = LOAD_WEIGHTS4(weights[q] + (tap + i) * 4);                                                \
    [[unroll]] for (uint r = 0; r < kTileRows; ++r)                                                              \
      block_sums[r * kTileQuads + q] = multiply_add(block_sums[r * kTileQuads + q], x[r], w);                    \
  }

void main() {
  const uvec2 tile = tile_of_invocation(push.columns, push.row_quads) * uvec2(kTileQuads, 1);
  if (tile.x >= push.row_quads || tile.y >= push.tiles) return;
  const uint line = tile.y / push.tiles_x, first_x = tile.y % push.tiles_x * kTileRows;
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
    const int y = source(int(line % push.output_height), int(ky), push.stride_h, push.dilation_h, push.pad_top);
    if (!inside(y, push.input_height)) continue;
    for (uint kx = 0; kx < push.kernel_w; ++kx) {
      const uint tap = (ky * push.kernel_w + kx) * push.group_inputs;
      bool reads[kTileRows];
      uint inputs[kTileRows];
      [[unroll]] for (uint r = 0; r < kTileRows; ++r) {
        const int x = source(int(first_x + r), int(kx), push.stride_w, push.dilation_w, push.pad_left);
        reads[r] = inside(x, push.input_width);
        inputs[r] = uint((image + y) * push.input_width + x) * push.input_quads + group * push.group_inputs;
      }
      ADD_QUADS(push.group_inputs)
    }
  }
  [[unroll]] for (uint r = 0; r < kTileRows; ++r)
    [[unroll]] for (uint q = 0; q < kTileQuads; ++q) {
      const uint pixel = line * push.output_width + first_x + r, quad = tile.x + q;
      if (first_x + r < push.output_width && quad < push.row_quads)
        STORE_OUTPUT(pixel * push.row_quads + quad, epilogue(sums[r * kTileQuads + q], pixel, quad));
    }
}
