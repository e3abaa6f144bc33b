#version 450
// Quads to host floats, rows without padding.
#define OUTPUT_TYPE float
#include "common.glsl"

layout(push_constant) uniform Push {
  uint rows, channels, row_quads;
} push;

void main() {
  const uint i = linear_index();
  if (i >= push.rows * push.row_quads) return;
  const uint row = i / push.row_quads, first = i % push.row_quads * 4;
  const vec4 value = LOAD_INPUT(i);
  for (uint lane = 0; lane < 4; ++lane)
    if (first + lane < push.channels) output_data[row * push.channels + first + lane] = value[lane];
}
