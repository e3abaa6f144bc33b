#version 450
// Weights as the blob has them to quads in the order of a kernel: in lane l of quad (a, b, c, d) the element at
// a*stride_a + b*stride_b + c*stride_c + d*stride_d + l*stride_lane, or 0 where one of the two dimensions that are
// split in quads has ended.
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
