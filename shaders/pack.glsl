// Common to the kernels that pack weights (sdk/gpu/backend/weights.h). One quad per invocation; quad i has coordinates
// (a, b, c, d), d innermost.
#define INPUT_TYPE uint
#include "common.glsl"

layout(constant_id = 3) const uint kSourceBits = 32;  // per element in the blob

layout(push_constant) uniform Push {
  uint quads;          // in this piece
  uint output_offset;  // in quads
  uint input_offset;   // in elements
  uint size_b, size_c, size_d;
  uint stride_a, stride_b, stride_c, stride_d, stride_lane;
  uint lane_limit;               // elements in the lanes' dimension: 4 * (coordinate lane_of) + lane
  uint lane_of;                  // 0..3: which of a, b, c, d counts quads in the lanes' dimension
  uint inner_limit;              // elements in the other split dimension: 4 * inner_of + inner_lane_of
  uint inner_of, inner_lane_of;  // 4: none
} push;

float element(uint i) {
  if (kSourceBits == 16) return unpackHalf2x16(input_data[i >> 1])[i & 1];
  return uintBitsToFloat(input_data[i]);
}

uint[4] coordinates(uint i) {
  uint at[4];
  at[3] = i % push.size_d;
  i /= push.size_d;
  at[2] = i % push.size_c;
  i /= push.size_c;
  at[1] = i % push.size_b;
  at[0] = i / push.size_b;
  return at;
}

// The source element of a quad's first lane.
uint first_element(uint at[4]) {
  return push.input_offset + at[0] * push.stride_a + at[1] * push.stride_b + at[2] * push.stride_c +
         at[3] * push.stride_d;
}

// Whether the quad has any element of the source.
bool inside(uint at[4]) {
  return push.inner_of == 4 || 4 * at[push.inner_of] + at[push.inner_lane_of] < push.inner_limit;
}

// Whether a lane of such a quad has one.
bool inside(uint at[4], uint lane) { return 4 * at[push.lane_of] + lane < push.lane_limit; }
