#version 450
// Layer and group normalization: the channels of a sample in groups, each with its mean and variance over the sample's
// rows. Workgroup of X by Y: X invocations share a bundle (the fewest groups that are whole quads); Y bundles.
#include "common.glsl"
#include "epilogue.glsl"
#include "kahan.glsl"

layout(constant_id = 7) const uint kShares = 1;   // X, a power of two
layout(constant_id = 8) const uint kBundles = 1;  // Y
layout(constant_id = 9) const uint kKind = 0;
const uint kResponse = 1;    // 1 + weight * x / (mean + epsilon), for GRN
const uint kUncentered = 2;  // the mean counts as 0, for RMSNorm

layout(push_constant) uniform Push {
  EPILOGUE_PUSH
  uint samples;
  uint rows;        // per sample
  uint groups;      // per row
  uint group_size;  // channels
  uint bundle;      // groups: 1, 2 or 4
  float epsilon;
} push;
EPILOGUE

shared vec4 partial[kShares * kBundles];

void main() {
  const uint bundles = (push.groups + push.bundle - 1) / push.bundle, share = gl_LocalInvocationID.x;
  const uint me = gl_LocalInvocationID.y * kShares + share;
  const uint number = (gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x) * kBundles + gl_LocalInvocationID.y;
  const uint first_row = number / bundles * push.rows, first_group = number % bundles * push.bundle;
  const uint rows = number / bundles < push.samples ? push.rows : 0;  // 0: only takes part in the barriers

  vec4 means = vec4(0), factors = vec4(0);  // of the bundle's groups
  for (uint g = 0; g < push.bundle; ++g) {
    const uint begin = (first_group + g) * push.group_size, end = min(begin + push.group_size, push.channels);
    const uint quads = begin < end ? (end + 3) / 4 - begin / 4 : 0;
    for (uint squares = 0; squares < 2; ++squares) {
      precise vec4 sum = vec4(0), carry = vec4(0);
      for (uint i = share; i < rows * quads; i += kShares) {
        const uint quad = begin / 4 + i % quads;
        const uvec4 channel = uvec4(quad * 4) + uvec4(0, 1, 2, 3);
        vec4 value = LOAD_INPUT((first_row + i / quads) * push.row_quads + quad) - means[g];
        if (squares == 1) value *= value;
        value = mix(vec4(0), mask_lanes(value, quad * 4, end), greaterThanEqual(channel, uvec4(begin)));
        KAHAN_ADD(sum, carry, value)
      }
      partial[me] = sum;
      for (uint n = kShares / 2; n > 0; n /= 2) {
        barrier();
        if (share < n) partial[me] += partial[me + n];
      }
      barrier();
      const float mean = dot(partial[me - share], vec4(1)) / float(push.rows * push.group_size);
      barrier();
      if (squares == 0) means[g] = kKind == kUncentered ? 0 : mean;
      else factors[g] = 1 / sqrt(mean + push.epsilon);
    }
  }

  const uint first = first_group * push.group_size / 4;
  const uint quads = min((push.bundle * push.group_size + 3) / 4, push.row_quads - first);
  for (uint i = share; i < rows * quads; i += kShares) {
    const uint row = first_row + i / quads, quad = first + i % quads;
    vec4 value = LOAD_INPUT(row * push.row_quads + quad);
    const vec4 weight = LOAD_WEIGHT(quad);
    if (kKind == kResponse) {
      value = 1 + weight * value / (means.x + push.epsilon);
    } else {
      const uvec4 group = min((uvec4(quad * 4) + uvec4(0, 1, 2, 3)) / push.group_size - first_group, push.bundle - 1);
      const vec4 mean = vec4(means[group.x], means[group.y], means[group.z], means[group.w]);
      const vec4 factor = vec4(factors[group.x], factors[group.y], factors[group.z], factors[group.w]);
      value = (value - mean) * factor * weight + LOAD_WEIGHT(push.row_quads + quad);
    }
    STORE_OUTPUT(row * push.row_quads + quad, epilogue(value, row, quad));
  }
}
