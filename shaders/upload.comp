#version 450
// Host floats, rows without padding, to quads.
#define INPUT_TYPE float
#include "common.glsl"

layout(push_constant) uniform Push {
  uint rows, channels, row_quads;
} push;

void main() {
  const uint i = linear_index();
  if (i >= push.rows * push.row_quads) return;
  const uint row = i / push.row_quads, first = i % push.row_quads * 4;
  vec4 value = vec4(0);
  for (uint lane = 0; lane < 4; ++lane)
    if (first + lane < push.channels) value[lane] = input_data[row * push.channels + first + lane];
  STORE_OUTPUT(i, value);
}
