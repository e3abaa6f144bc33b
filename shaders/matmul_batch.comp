#version 450
// Products of two activations, one per sample, each operand optionally transposed. kTileRows x kTileQuads output quads
// per invocation.
#include "common.glsl"
#include "tile.glsl"

layout(constant_id = 3) const uint kTransposeA = 0;  // 1: kTileRows is 4
layout(constant_id = 4) const uint kTransposeB = 0;

layout(push_constant) uniform Push {
  uvec4 sizes;               // of the sample dimensions
  uvec4 a_stride, b_stride;  // quads from one sample's matrix to the next
  uint samples;
  uint rows, depth, channels;        // per product; its sums have `depth` terms
  uint row_quads, a_quads, b_quads;  // per row of the output, of a and of b as stored
  uint columns;
} push;

void main() {
  const uint row_tiles = (push.rows + kTileRows - 1) / kTileRows;
  const uvec2 tile = tile_of_invocation(push.columns, push.row_quads);
  const uint number = tile.y / row_tiles, first_row = tile.y % row_tiles * kTileRows, first_quad = tile.x * kTileQuads;
  if (first_quad >= push.row_quads || number >= push.samples) return;
  uint rest = number, a = 0, b = 0;
  for (int d = 3; d >= 0; --d) {
    a += rest % push.sizes[d] * push.a_stride[d];
    b += rest % push.sizes[d] * push.b_stride[d];
    rest /= push.sizes[d];
  }

  vec4 sums[kTileRows * kTileQuads];
  [[unroll]] for (uint i = 0; i < kTileRows * kTileQuads; ++i) sums[i] = vec4(0);
  // Rows and quads beyond the edge repeat the last one and are not stored. Terms beyond the depth are zeroed on both
  // sides, since the memory there may hold infinities or NaN.
  for (uint first = 0; first < push.depth; first += 4) {
    vec4 x[kTileRows];
    if (kTransposeA != 0) {
      mat4 block;
      [[unroll]] for (uint k = 0; k < 4; ++k)
        block[k] = first + k < push.depth ? LOAD_INPUT(a + (first + k) * push.a_quads + first_row / 4) : vec4(0);
      block = transpose(block);
      [[unroll]] for (uint r = 0; r < kTileRows; ++r) x[r] = block[r];
    } else {
      [[unroll]] for (uint r = 0; r < kTileRows; ++r)
        x[r] = LOAD_INPUT(a + min(first_row + r, push.rows - 1) * push.a_quads + first / 4);
    }
    [[unroll]] for (uint q = 0; q < kTileQuads; ++q) {
      const uint quad = min(first_quad + q, push.row_quads - 1);
      mat4 w;
      [[unroll]] for (uint k = 0; k < 4; ++k) {
        if (kTransposeB != 0)
          w[k] = LOAD_OPERAND(b + min(quad * 4 + k, push.channels - 1) * push.b_quads + first / 4);
        else
          w[k] = first + k < push.depth ? LOAD_OPERAND(b + (first + k) * push.b_quads + quad) : vec4(0);
      }
      [[unroll]] for (uint r = 0; r < kTileRows; ++r)
        sums[r * kTileQuads + q] += kTransposeB != 0 ? x[r] * w : w * x[r];
    }
  }
  [[unroll]] for (uint r = 0; r < kTileRows; ++r)
    [[unroll]] for (uint q = 0; q < kTileQuads; ++q)
      if (first_row + r < push.rows && first_quad + q < push.row_quads)
        STORE_OUTPUT((number * push.rows + first_row + r) * push.row_quads + first_quad + q,
                     mask_lanes(sums[r * kTileQuads + q], (first_quad + q) * 4, push.channels));
}
