#version 450
// Turns pairs of a head's channels by angles of their own, one output quad an invocation. Weights: the cosines,
// operand: the sines, a row a token.
#include "common.glsl"

layout(constant_id = 3) const uint kInterleaved = 0;  // 1: neighbours are a pair; 0: channels half a head apart

layout(push_constant) uniform Push {
  uint rows, channels, row_quads;
  uint tokens;
  uint head;         // channels of one
  uint table_quads;  // of a row of cosines
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
