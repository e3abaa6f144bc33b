#version 450
// Transforms tiles of the input: [n*n][tiles][I/4]. One tile x 1 quad per invocation.
#include "common.glsl"
#include "winograd.glsl"

layout(constant_id = 3) const uint kTile = 4;  // m: 2 or 4

layout(push_constant) uniform Push {
  uint tiles, tiles_x, tiles_y;
  uint row_quads;
  int height, width, pad_top, pad_left;
} push;

const uint kSide = kTile + 2;
const uint kCells = 36;  // for the larger tile

// Transforms a row or a column: kSide elements of `x` that lie `step` apart.
void transform(inout vec4 x[kCells], uint first, uint step) {
  vec4 d[6];
  [[unroll]] for (uint i = 0; i < kSide; ++i) d[i] = x[first + i * step];
  if (kTile == 2) {
    x[first] = d[0] - d[2];
    x[first + step] = d[1] + d[2];
    x[first + 2 * step] = d[2] - d[1];
    x[first + 3 * step] = d[1] - d[3];
  } else {
    const vec4 even_a = d[4] - kB2 * d[2], odd_a = kA * (d[3] - kB2 * d[1]);
    const vec4 even_b = d[4] - kA2 * d[2], odd_b = kB * (d[3] - kA2 * d[1]);
    x[first] = kA2 * kB2 * d[0] - (kA2 + kB2) * d[2] + d[4];
    x[first + step] = even_a + odd_a;
    x[first + 2 * step] = even_a - odd_a;
    x[first + 3 * step] = even_b + odd_b;
    x[first + 4 * step] = even_b - odd_b;
    x[first + 5 * step] = kA2 * kB2 * d[1] - (kA2 + kB2) * d[3] + d[5];
  }
}

void main() {
  const uint i = linear_index();
  if (i >= push.tiles * push.row_quads) return;
  const uint quad = i % push.row_quads, tile = i / push.row_quads;
  const int left = int(tile % push.tiles_x * kTile) - push.pad_left;
  const int top = int(tile / push.tiles_x % push.tiles_y * kTile) - push.pad_top;
  const int image = int(tile / push.tiles_x / push.tiles_y) * push.height;

  vec4 x[kCells];
  [[unroll]] for (uint p = 0; p < kSide * kSide; ++p) {
    const int row = top + int(p / kSide), column = left + int(p % kSide);
    const bool reads = row >= 0 && row < push.height && column >= 0 && column < push.width;
    x[p] = reads ? LOAD_INPUT(uint((image + row) * push.width + column) * push.row_quads + quad) : vec4(0);
  }
  [[unroll]] for (uint column = 0; column < kSide; ++column) transform(x, column, kSide);
  [[unroll]] for (uint row = 0; row < kSide; ++row) transform(x, row * kSide, 1);
  [[unroll]] for (uint p = 0; p < kSide * kSide; ++p) STORE_OUTPUT(p * push.tiles * push.row_quads + i, x[p]);
}
