#version 450
#extension GL_KHR_shader_subgroup_arithmetic : require
// Matrix product for few rows: partial sums are combined in subgroups of any size, then across subgroups in shared
// memory. The workgroup has one output quad: kSplit is kThreads.
#include "matvec.glsl"

shared vec4 partial[kTileRows * kThreads];  // a subgroup may have a single invocation

void main() {
  const Share share = share_of_invocation();
  vec4 sums[kTileRows];
  partial_sums(share, sums);
  [[unroll]] for (uint r = 0; r < kTileRows; ++r) {
    const vec4 sum = subgroupAdd(sums[r]);
    if (subgroupElect()) partial[r * kThreads + gl_SubgroupID] = sum;
  }
  barrier();
  if (share.part < kTileRows) {
    vec4 sum = vec4(0);
    for (uint i = 0; i < gl_NumSubgroups; ++i) sum += partial[share.part * kThreads + i];
    store_sum(share, share.part, sum);
  }
}
