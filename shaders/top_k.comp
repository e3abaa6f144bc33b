#version 450
// The indices of each row's best elements, best first. A workgroup processes a row and finds one element at a time, the
// best after the previous one.
#include "common.glsl"

layout(push_constant) uniform Push {
  uint rows, channels, row_quads;  // of the input
  uint k, k_quads;
  int largest, later;  // 1 or -1: the largest are best; of equal ones the later is
} push;

const uint kInvocations = 64;  // the workgroup
shared ivec2 best[kInvocations];

// Keys that order like the elements, NaN above all, both zeros equal; and the index.
ivec2 order_of(float value, uint place) {
  const int bits = floatBitsToInt(value), magnitude = bits & 0x7fffffff;
  const int order = magnitude > 0x7f800000 ? 0x7fffffff : bits < 0 ? -magnitude : magnitude;
  return ivec2(order * push.largest, int(place) * push.later);
}

bool above(ivec2 a, ivec2 b) { return a.x > b.x || (a.x == b.x && a.y > b.y); }

void main() {
  const uint row = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x, me = gl_LocalInvocationID.x;
  if (row >= push.rows) return;  // for the whole workgroup
  const uint first = row * push.row_quads, first_best = row * push.k_quads;
  vec4 found = vec4(0);
  ivec2 last = ivec2(0x7fffffff);
  for (uint i = 0; i < push.k; ++i) {
    ivec2 next = ivec2(0x80000000);
    for (uint c = me; c < push.channels; c += kInvocations) {
      const ivec2 order = order_of(LOAD_INPUT(first + c / 4)[c % 4], c);
      if (above(last, order) && above(order, next)) next = order;
    }
    barrier();  // all have read the previous best
    best[me] = next;
    for (uint n = kInvocations / 2; n > 0; n /= 2) {
      barrier();
      if (me < n && above(best[me + n], best[me])) best[me] = best[me + n];
    }
    barrier();
    last = best[0];
    found[i % 4] = float(abs(last.y));
    if (me == 0 && (i % 4 == 3 || i + 1 == push.k))
      STORE_OUTPUT(first_best + i / 4, mask_lanes(found, i & ~3u, push.k));
  }
}
