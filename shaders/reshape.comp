#version 450
// Copies the same elements to rows of another length.
#include "common.glsl"

layout(push_constant) uniform Push {
  uint rows, channels, row_quads;        // of the output
  uint in_channels, in_row_quads;
} push;

void main() {
  const uint i = linear_index();
  const uint row = i / push.row_quads, first = i % push.row_quads * 4;
  if (row >= push.rows) return;
  vec4 value = vec4(0);
  for (uint lane = 0; lane < 4 && first + lane < push.channels; ++lane) {
    const uint e = row * push.channels + first + lane, c = e % push.in_channels;
    value[lane] = LOAD_INPUT(e / push.in_channels * push.in_row_quads + c / 4)[c % 4];
  }
  STORE_OUTPUT(i, value);
}
