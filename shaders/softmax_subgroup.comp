#version 450
#extension GL_KHR_shader_subgroup_arithmetic : require
// Softmax over the last dimension, with reductions in subgroups first.
#include "common.glsl"

layout(constant_id = 3) const uint kInvocations = 1;  // per workgroup

shared float partial[kInvocations];  // one per subgroup, which has at least one invocation

#define REDUCE(combine, within)                                                   \
  const float mine = within(value);                                               \
  barrier();                                                                      \
  if (gl_SubgroupInvocationID == 0) partial[gl_SubgroupID] = mine;                \
  barrier();                                                                      \
  float all = partial[0];                                                         \
  for (uint i = 1; i < gl_NumSubgroups; ++i) all = combine(all, partial[i]);      \
  return all;

float plus(float a, float b) { return a + b; }
float reduce_max(float value) { REDUCE(max, subgroupMax) }
float reduce_sum(float value) { REDUCE(plus, subgroupAdd) }

#include "softmax.glsl"

void main() { softmax(); }
