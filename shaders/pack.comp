#version 450
// Weights as the blob has them to quads in the order of a kernel (sdk/gpu/weights.h). One quad an invocation; quad i holds
// coordinates (a, b, c, d), d innermost, and in lane l the element at a*stride_a + b*stride_b + c*stride_c + d*stride_d +
// l*stride_lane, or 0 where one of the two dimensions that are split in quads has ended.
#define INPUT_TYPE uint
#include "common.glsl"

layout(constant_id = 3) const uint kSourceHalf = 0;  // 1: the blob's weights are half precision

layout(push_constant) uniform Push {
  uint quads;                                    // of this piece
  uint output_offset;                            // in quads
  uint input_offset;                             // in elements
  uint size_b, size_c, size_d;
  uint stride_a, stride_b, stride_c, stride_d, stride_lane;
  uint lane_limit;                               // elements along the lanes' dimension: 4 * (coordinate lane_of) + lane
  uint lane_of;                                  // 0..3: which of a, b, c, d counts quads of the lanes' dimension
  uint inner_limit;                              // elements of the other split dimension: 4 * (inner_of) + (inner_lane_of)
  uint inner_of, inner_lane_of;                  // 4: there is none
} push;

float element(uint i) {
  if (kSourceHalf != 0) return unpackHalf2x16(input_data[i >> 1])[i & 1];
  return uintBitsToFloat(input_data[i]);
}

void main() {
  const uint i = linear_index();
  if (i >= push.quads) return;
  uint rest = i;
  uint at[4];
  at[3] = rest % push.size_d;
  rest /= push.size_d;
  at[2] = rest % push.size_c;
  rest /= push.size_c;
  at[1] = rest % push.size_b;
  at[0] = rest / push.size_b;
  const bool inside = push.inner_of == 4 || 4 * at[push.inner_of] + at[push.inner_lane_of] < push.inner_limit;
  const uint base = push.input_offset + at[0] * push.stride_a + at[1] * push.stride_b + at[2] * push.stride_c +
                    at[3] * push.stride_d;
  vec4 value = vec4(0);
  for (uint lane = 0; lane < 4; ++lane)
    if (inside && 4 * at[push.lane_of] + lane < push.lane_limit) value[lane] = element(base + lane * push.stride_lane);
  STORE_OUTPUT(push.output_offset + i, value);
}
