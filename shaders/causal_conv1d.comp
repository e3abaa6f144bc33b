#version 450
// Convolution over time per channel. An invocation processes a quad of channels over all tokens, so that it can
// overwrite the state in place: with the last of the state's tokens followed by x's.
#define STATE_TYPE float
#include "common.glsl"

layout(push_constant) uniform Push {
  uint samples, tokens, channels, row_quads;
  uint past;  // tokens in the state, one fewer than the kernel has
  uint bias;  // first quad in the weights; 0: none
} push;

vec4 token(uint n, uint t, uint quad) {
  if (t >= push.past) return LOAD_INPUT((n * push.tokens + t - push.past) * push.row_quads + quad);
  vec4 value = vec4(0);
  for (uint lane = 0; lane < 4 && quad * 4 + lane < push.channels; ++lane)
    value[lane] = state_data[(n * push.past + t) * push.channels + quad * 4 + lane];
  return value;
}

void main() {
  const uint i = linear_index(), n = i / push.row_quads, quad = i % push.row_quads;
  if (n >= push.samples) return;
  for (uint t = 0; t < push.tokens; ++t) {
    vec4 sum = push.bias == 0 ? vec4(0) : LOAD_WEIGHT(push.bias + quad);
    for (uint k = 0; k <= push.past; ++k) sum += token(n, t + k, quad) * LOAD_WEIGHT(k * push.row_quads + quad);
    STORE_OUTPUT((n * push.tokens + t) * push.row_quads + quad, sum);
  }
  for (uint t = 0; t < push.past; ++t) {
    const vec4 value = token(n, push.tokens + t, quad);
    for (uint lane = 0; lane < 4 && quad * 4 + lane < push.channels; ++lane)
      state_data[(n * push.past + t) * push.channels + quad * 4 + lane] = value[lane];
  }
}
