#version 450
// Gathers from each row the elements at the indices in its row of the operand; negative ones count from the row's end.
// An index out of range, which ends a run on the CPU, gives NaN.
#include "common.glsl"

layout(push_constant) uniform Push {
  uint rows, channels, row_quads;  // of the input
  uint count, count_quads;         // indices per row
} push;

void main() {
  const uint i = linear_index(), row = i / push.count_quads, quad = i % push.count_quads;
  if (row >= push.rows) return;
  const ivec4 places = ivec4(LOAD_OPERAND(i));
  vec4 found = vec4(0);
  for (uint lane = 0; lane < 4; ++lane) {
    const uint place = uint(places[lane] < 0 ? places[lane] + int(push.channels) : places[lane]);
    found[lane] = place < push.channels ? LOAD_INPUT(row * push.row_quads + place / 4)[place % 4]
                                        : uintBitsToFloat(0x7fc00000);
  }
  STORE_OUTPUT(i, mask_lanes(found, quad * 4, push.count));
}
