// What kernels that pack weights share (sdk/gpu/backend/weights.h). One quad an invocation; quad i holds coordinates
// (a, b, c, d), d innermost.
#define INPUT_TYPE uint
#include "common.glsl"

layout(constant_id = 3) const uint kSourceBits = 32;  // of an element in the blob

layout(push_constant) uniform Push {
  uint quads;                                    // of this piece
  uint output_offset;                            // in quads
  uint input_offset;                             // in elements
  uint size_b, size_c, size_d;
  uint stride_a, stride_b, stride_c, stride_d, stride_lane;
  uint lane_limit;                               // elements along the lanes' dimension: 4 * (coordinate lane_of) + lane
  uint lane_of;                                  // 0..3: which of a, b, c, d counts quads of the lanes' dimension
  uint inner_limit;                              // elements of the other split dimension: 4 * inner_of + inner_lane_of
  uint inner_of, inner_lane_of;                  // 4: there is none
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

// Of a quad's lanes the first one's element.
uint first_element(uint at[4]) {
  return push.input_offset + at[0] * push.stride_a + at[1] * push.stride_b + at[2] * push.stride_c +
         at[3] * push.stride_d;
}

// Has a quad any element of the source?
bool inside(uint at[4]) {
  return push.inner_of == 4 || 4 * at[push.inner_of] + at[push.inner_lane_of] < push.inner_limit;
}

// Has a lane of such a quad one?
bool inside(uint at[4], uint lane) { return 4 * at[push.lane_of] + lane < push.lane_limit; }
