#version 450
// Moves elements: maps each output coordinate (six dimensions, the last in lanes) to an input position, or to a fill
// value outside. transpose, slice, pad, pixel_shuffle.
#include "common.glsl"

layout(constant_id = 3) const uint kWholeQuads = 0;  // 1: the lanes of an output quad are those of one input quad

layout(push_constant) uniform Push {
  int size[6];    // of the output
  int stride[6];  // in input elements, padding lanes included
  int before[6];  // output coordinates before the input's first
  int limit[6];   // number of input coordinates
  int base;       // input element of the coordinates `before`
  float fill;
  uint row_quads;   // of the output
  uint rows;
} push;

void main() {
  const uint i = linear_index();
  const uint row = i / push.row_quads, quad = i % push.row_quads;
  if (row >= push.rows) return;
  int rest = int(row), at = push.base;
  bool inside = true;
  for (int d = 4; d >= 0; --d) {
    const int c = rest % push.size[d] - push.before[d];
    rest /= push.size[d];
    inside = inside && c >= 0 && c < push.limit[d];
    at += c * push.stride[d];
  }
  const int first = int(quad) * 4;
  vec4 value = vec4(push.fill);
  if (kWholeQuads != 0) {
    const int c = first - push.before[5];
    if (inside && c >= 0 && c < push.limit[5]) value = LOAD_INPUT((at + c) / 4);
  } else {
    for (int lane = 0; lane < 4; ++lane) {
      const int c = first + lane - push.before[5], e = at + c * push.stride[5];
      if (inside && c >= 0 && c < push.limit[5]) value[lane] = LOAD_INPUT(e / 4)[e % 4];
    }
  }
  STORE_OUTPUT(i, mask_lanes(value, uint(first), uint(push.size[5])));
}
