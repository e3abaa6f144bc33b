#version 450
// z matrix products: rows of quads times weights [O/4][z][I/4][4 of I], which may be quantized if z is 1. kTileRows x
// kTileQuads output quads per invocation.
#include "common.glsl"
#include "epilogue.glsl"
#include "tile.glsl"
#include "weights.glsl"

layout(push_constant) uniform Push {
  EPILOGUE_PUSH
  uint columns;
  uint rows;           // per product
  uint input_quads;    // per row
  uint weight_stride;  // from one output quad's weights to the next
  uint bias;
  uint scales;
} push;
EPILOGUE

#define ADD_QUAD(i)                                                                               \
  TERM x[kTileRows];                                                                              \
  [[unroll]] for (uint r = 0; r < kTileRows; ++r) x[r] = LOAD_INPUT_TERM(inputs[r] + i);          \
  [[unroll]] for (uint q = 0; q < kTileQuads; ++q) {                                              \
    const Weights4 w = load_weights4(weights[q] + (i) * 4, scales[q], i);                         \
    [[unroll]] for (uint r = 0; r < kTileRows; ++r)                                               \
      block_sums[r * kTileQuads + q] = multiply_add(block_sums[r * kTileQuads + q], x[r], w);     \
  }

void main() {
  const uvec2 tile = tile_of_invocation(push.columns, push.row_quads) * uvec2(kTileQuads, kTileRows);
  if (tile.x >= push.row_quads || tile.y >= push.rows) return;
  const uint z = gl_WorkGroupID.z;

  // Rows and quads beyond the edge repeat the last one and are not stored.
  uint inputs[kTileRows], weights[kTileQuads], scales[kTileQuads];
  vec4 sums[kTileRows * kTileQuads];
  [[unroll]] for (uint r = 0; r < kTileRows; ++r)
    inputs[r] = (z * push.rows + min(tile.y + r, push.rows - 1)) * push.input_quads;
  [[unroll]] for (uint q = 0; q < kTileQuads; ++q) {
    const uint quad = min(tile.x + q, push.row_quads - 1);
    weights[q] = quad * push.weight_stride + z * push.input_quads * 4;
    scales[q] = FIRST_SCALE(quad);
    const vec4 bias = LOAD_BIAS(quad);
    [[unroll]] for (uint r = 0; r < kTileRows; ++r) sums[r * kTileQuads + q] = bias;
  }
  ADD_QUADS(push.input_quads)
  [[unroll]] for (uint r = 0; r < kTileRows; ++r)
    [[unroll]] for (uint q = 0; q < kTileQuads; ++q)
      if (tile.y + r < push.rows && tile.x + q < push.row_quads)
        STORE_OUTPUT((z * push.rows + tile.y + r) * push.row_quads + tile.x + q,
                     epilogue(sums[r * kTileQuads + q], tile.y + r, tile.x + q));
}
