#version 450
// Converts quads to host floats or integers, rows without padding.
#define OUTPUT_TYPE float
#include "common.glsl"

layout(constant_id = 3) const bool kIntegers = false;

// Aliases the same memory.
layout(std430, binding = 0) buffer Integers { int integers[]; };

layout(push_constant) uniform Push {
  uint rows, channels, row_quads;
} push;

void main() {
  const uint i = linear_index();
  if (i >= push.rows * push.row_quads) return;
  const uint row = i / push.row_quads, first = i % push.row_quads * 4;
  const vec4 value = LOAD_INPUT(i);
  for (uint lane = 0; lane < 4; ++lane)
    if (first + lane < push.channels) {
      const uint at = row * push.channels + first + lane;
      if (kIntegers) {
        integers[at] = int(value[lane]);
      } else {
        output_data[at] = value[lane];
      }
    }
}
