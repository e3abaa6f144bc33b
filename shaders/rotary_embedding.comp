#version 450
// Rotates pairs of a head's channels. One output quad per invocation. Weights: the cosines; operand: the sines; one row
// per token.
#include "common.glsl"

// 1: neighbouring channels are a pair; 0: channels half a head apart
layout(constant_id = 3) const uint kInterleaved = 0;

layout(push_constant) uniform Push {
  uint rows, channels, row_quads;
  uint tokens;
  uint head;         // channels per head
  uint table_quads;  // per row of cosines
} push;

void main() {
  const uint i = linear_index();
  const uint row = i / push.row_quads, first = i % push.row_quads * 4;
  if (row >= push.rows) return;
  const vec4 x = LOAD_INPUT(i);
  vec4 value = vec4(0);
  for (uint lane = 0; lane < 4 && first + lane < push.channels; ++lane) {
    const uint channel = first + lane, at = channel % push.head;
    const bool negative = kInterleaved != 0 ? at % 2 == 0 : at < push.head / 2;
    const uint distance = kInterleaved != 0 ? 1 : push.head / 2;
    const uint other = negative ? channel + distance : channel - distance;
    const uint angle = row % push.tokens * push.table_quads + at / 4;
    const float turned = LOAD_INPUT(row * push.row_quads + other / 4)[other % 4];
    value[lane] = x[lane] * LOAD_WEIGHT(angle)[at % 4] +
                  (negative ? -turned : turned) * LOAD_OPERAND(angle)[at % 4];
  }
  STORE_OUTPUT(i, value);
}
