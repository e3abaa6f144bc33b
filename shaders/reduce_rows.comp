#version 450
// Mean or sum, optionally of squares, over dimensions other than the last. Workgroup of X by Y: X quads of one output
// row, Y shares of the rows to sum.
#include "common.glsl"
#include "epilogue.glsl"
#include "kahan.glsl"

layout(constant_id = 7) const uint kShares = 1;   // Y
layout(constant_id = 8) const uint kQuads = 1;    // X
layout(constant_id = 9) const uint kSquares = 0;  // 1: sums squares

layout(push_constant) uniform Push {
  EPILOGUE_PUSH
  uint rows;            // of the output
  uint reduced;         // input rows per output row
  float scale;          // 1, or 1 / reduced
  uint kept_size[2];    // sizes of the kept dimensions except the outermost, adjacent ones merged, innermost last
  uint kept_stride[3];  // in input rows
  uint reduced_size[2];
  uint reduced_stride[3];
} push;
EPILOGUE

shared vec4 partial[kQuads * kShares];

uint kept_row(uint i) {
  const uint inner = i % push.kept_size[1], rest = i / push.kept_size[1];
  return inner * push.kept_stride[2] + rest % push.kept_size[0] * push.kept_stride[1] +
         rest / push.kept_size[0] * push.kept_stride[0];
}

uint reduced_row(uint i) {
  const uint inner = i % push.reduced_size[1], rest = i / push.reduced_size[1];
  return inner * push.reduced_stride[2] + rest % push.reduced_size[0] * push.reduced_stride[1] +
         rest / push.reduced_size[0] * push.reduced_stride[0];
}

void main() {
  const uint columns = (push.row_quads + kQuads - 1) / kQuads;
  const uint group = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
  const uint row = group / columns, quad = group % columns * kQuads + gl_LocalInvocationID.x;
  const uint share = gl_LocalInvocationID.y;
  const bool inside = row < push.rows && quad < push.row_quads;
  precise vec4 sum = vec4(0), carry = vec4(0);
  if (inside) {
    const uint first = kept_row(row);
    for (uint i = share; i < push.reduced; i += kShares) {
      const vec4 x = LOAD_INPUT((first + reduced_row(i)) * push.row_quads + quad);
      KAHAN_ADD(sum, carry, kSquares == 1 ? x * x : x)
    }
  }
  partial[share * kQuads + gl_LocalInvocationID.x] = sum;
  for (uint half_shares = kShares / 2; half_shares > 0; half_shares /= 2) {
    barrier();
    if (share < half_shares)
      partial[share * kQuads + gl_LocalInvocationID.x] +=
          partial[(share + half_shares) * kQuads + gl_LocalInvocationID.x];
  }
  if (share == 0 && inside)
    STORE_OUTPUT(row * push.row_quads + quad, epilogue(partial[gl_LocalInvocationID.x] * push.scale, row, quad));
}
