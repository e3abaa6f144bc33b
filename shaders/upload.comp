#version 450
// Converts host floats or integers, rows without padding, to quads.
#define INPUT_TYPE float
#include "common.glsl"

layout(constant_id = 3) const bool kIntegers = false;

// Aliases the same memory.
layout(std430, binding = 1) readonly buffer Integers { int integers[]; };

layout(push_constant) uniform Push {
  uint rows, channels, row_quads;
} push;

void main() {
  const uint i = linear_index();
  if (i >= push.rows * push.row_quads) return;
  const uint row = i / push.row_quads, first = i % push.row_quads * 4;
  vec4 value = vec4(0);
  for (uint lane = 0; lane < 4; ++lane)
    if (first + lane < push.channels) {
      const uint at = row * push.channels + first + lane;
      value[lane] = kIntegers ? float(integers[at]) : input_data[at];
    }
  STORE_OUTPUT(i, value);
}
