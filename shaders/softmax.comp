#version 450
// Softmax over the last dimension, with reductions in shared memory.
#include "common.glsl"

layout(constant_id = 3) const uint kInvocations = 1;  // per workgroup, a power of two

shared float partial[kInvocations];

#define REDUCE(combine)                                            \
  const uint me = gl_LocalInvocationID.x;                          \
  barrier();                                                       \
  partial[me] = value;                                             \
  for (uint n = kInvocations / 2; n > 0; n /= 2) {                 \
    barrier();                                                     \
    if (me < n) partial[me] = combine(partial[me], partial[me + n]); \
  }                                                                \
  barrier();                                                       \
  return partial[0];

float plus(float a, float b) { return a + b; }
float reduce_max(float value) { REDUCE(max) }
float reduce_sum(float value) { REDUCE(plus) }

#include "softmax.glsl"

void main() { softmax(); }
