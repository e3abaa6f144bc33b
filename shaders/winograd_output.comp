#version 450
// Transforms products [n*n][tiles][O/4] back to pixels. One tile x 1 quad per invocation.
#include "common.glsl"
#include "epilogue.glsl"
#include "winograd.glsl"

layout(constant_id = 7) const uint kTile = 4;  // m: 2 or 4

layout(push_constant) uniform Push {
  EPILOGUE_PUSH
  uint tiles, tiles_x, tiles_y;
  uint height, width;
  uint has_bias;  // at the beginning of the weights
} push;
EPILOGUE

const uint kSide = kTile + 2;
const uint kCells = 36;  // for the larger tile

// Transforms a row or a column: kSide elements of `x` that lie `step` apart to kTile.
void transform(inout vec4 x[kCells], uint first, uint step) {
  vec4 d[6];
  [[unroll]] for (uint i = 0; i < kSide; ++i) d[i] = x[first + i * step];
  if (kTile == 2) {
    x[first] = d[0] + d[1] + d[2];
    x[first + step] = d[1] - d[2] - d[3];
  } else {
    const vec4 even_a = d[1] + d[2], odd_a = d[1] - d[2], even_b = d[3] + d[4], odd_b = d[3] - d[4];
    x[first] = d[0] + even_a + even_b;
    x[first + step] = kA * odd_a + kB * odd_b;
    x[first + 2 * step] = kA2 * even_a + kB2 * even_b;
    x[first + 3 * step] = kA * kA2 * odd_a + kB * kB2 * odd_b + d[5];
  }
}

void main() {
  const uint i = linear_index();
  if (i >= push.tiles * push.row_quads) return;
  const uint quad = i % push.row_quads, tile = i / push.row_quads;
  const uint left = tile % push.tiles_x * kTile, top = tile / push.tiles_x % push.tiles_y * kTile;
  const uint image = tile / push.tiles_x / push.tiles_y * push.height;

  vec4 x[kCells];
  [[unroll]] for (uint p = 0; p < kSide * kSide; ++p) x[p] = LOAD_INPUT(p * push.tiles * push.row_quads + i);
  [[unroll]] for (uint column = 0; column < kSide; ++column) transform(x, column, kSide);
  [[unroll]] for (uint row = 0; row < kTile; ++row) transform(x, row * kSide, 1);
  const vec4 bias = push.has_bias != 0 ? LOAD_WEIGHT(quad) : vec4(0);
  [[unroll]] for (uint row = 0; row < kTile; ++row)
    [[unroll]] for (uint column = 0; column < kTile; ++column) {
      if (top + row >= push.height || left + column >= push.width) continue;
      const uint pixel = (image + top + row) * push.width + left + column;
      STORE_OUTPUT(pixel * push.row_quads + quad, epilogue(x[row * kSide + column] + bias, pixel, quad));
    }
}
