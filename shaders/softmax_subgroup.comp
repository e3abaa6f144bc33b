#version 450
#extension GL_KHR_shader_subgroup_arithmetic : require
// Softmax over the last dimension, reductions by subgroups first.
#include "common.glsl"

layout(constant_id = 3) const uint kInvocations = 1;  // of the workgroup

shared float partial[kInvocations];  // one a subgroup, which has an invocation at least

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
