#version 450
// Matrix product for few rows: partial sums are combined in shared memory.
#include "matvec.glsl"

shared vec4 partial[kTileRows * kThreads];

void main() {
  const Share share = share_of_invocation();
  const uint thread = gl_LocalInvocationIndex;
  vec4 sums[kTileRows];
  partial_sums(share, sums);
  [[unroll]] for (uint r = 0; r < kTileRows; ++r) partial[r * kThreads + thread] = sums[r];
  barrier();
  for (uint half_split = kSplit / 2; half_split > 0; half_split /= 2) {
    if (share.part < half_split)
      [[unroll]] for (uint r = 0; r < kTileRows; ++r)
        partial[r * kThreads + thread] += partial[r * kThreads + thread + half_split];
    barrier();
  }
  if (share.part == 0)
    [[unroll]] for (uint r = 0; r < kTileRows; ++r) store_sum(share, r, partial[r * kThreads + thread]);
}
