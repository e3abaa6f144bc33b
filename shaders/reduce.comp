#version 450
// Mean or sum over any dimensions, element by element, for cases that reduce_rows does not support. One output quad per
// workgroup.
#include "common.glsl"
#include "epilogue.glsl"
#include "kahan.glsl"

layout(constant_id = 7) const uint kInvocations = 1;  // per workgroup, a power of two

layout(push_constant) uniform Push {
  EPILOGUE_PUSH
  uint rows;            // of the output
  uint reduced;         // input elements per output element
  float scale;          // 1, or 1 / reduced
  uint kept_size[3];    // sizes of the kept dimensions except the outermost, adjacent ones merged, innermost last
  uint kept_stride[4];  // in input elements, padding lanes included
  uint reduced_size[3];
  uint reduced_stride[4];
} push;
EPILOGUE

shared vec4 partial[kInvocations];

uint kept_offset(uint i) {
  uint at = 0;
  for (int d = 2; d >= 0; --d) {
    at += i % push.kept_size[d] * push.kept_stride[d + 1];
    i /= push.kept_size[d];
  }
  return at + i * push.kept_stride[0];
}

uint reduced_offset(uint i) {
  uint at = 0;
  for (int d = 2; d >= 0; --d) {
    at += i % push.reduced_size[d] * push.reduced_stride[d + 1];
    i /= push.reduced_size[d];
  }
  return at + i * push.reduced_stride[0];
}

void main() {
  const uint group = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
  const uint row = group / push.row_quads, quad = group % push.row_quads, me = gl_LocalInvocationID.x;
  if (row >= push.rows) return;
  uvec4 first;
  for (uint lane = 0; lane < 4; ++lane)  // lanes beyond the row repeat its last element; the epilogue masks them
    first[lane] = kept_offset(row * push.channels + min(quad * 4 + lane, push.channels - 1));
  precise vec4 sum = vec4(0), carry = vec4(0);
  for (uint r = me; r < push.reduced; r += kInvocations) {
    const uvec4 at = first + reduced_offset(r);
    const vec4 terms = vec4(LOAD_INPUT(at.x / 4)[at.x % 4], LOAD_INPUT(at.y / 4)[at.y % 4],
                            LOAD_INPUT(at.z / 4)[at.z % 4], LOAD_INPUT(at.w / 4)[at.w % 4]);
    KAHAN_ADD(sum, carry, terms)
  }
  partial[me] = sum;
  for (uint n = kInvocations / 2; n > 0; n /= 2) {
    barrier();
    if (me < n) partial[me] += partial[me + n];
  }
  if (me == 0) STORE_OUTPUT(group, epilogue(partial[0] * push.scale, row, quad));
}
