#version 450
// Packs weights from the blob's layout into quads in a kernel's order: lane l of quad (a, b, c, d) is the element at
// a*stride_a + b*stride_b + c*stride_c + d*stride_d + l*stride_lane, or 0 beyond the end of one of the two dimensions
// that are split into quads.
#include "pack.glsl"

void main() {
  const uint i = linear_index();
  if (i >= push.quads) return;
  const uint at[4] = coordinates(i);
  const uint base = first_element(at);
  vec4 value = vec4(0);
  for (uint lane = 0; lane < 4; ++lane)
    if (inside(at) && inside(at, lane)) value[lane] = element(base + lane * push.stride_lane);
  STORE_OUTPUT(push.output_offset + i, value);
}
