#version 450
// Mean or sum over any dimensions, element by element: what reduce_rows cannot do.
#include "common.glsl"
#include "epilogue.glsl"

layout(push_constant) uniform Push {
  EPILOGUE_PUSH
  uint rows;             // of the output
  uint reduced;          // elements that an output element adds up
  float scale;           // 1, or 1 / reduced
  uint kept_size[3];     // sizes of the kept dimensions but the outermost, neighbours merged, innermost last
  uint kept_stride[4];   // in input elements, padding lanes counted
  uint reduced_size[3];
  uint reduced_stride[4];
} push;
EPILOGUE

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
  const uint i = linear_index();
  const uint row = i / push.row_quads, quad = i % push.row_quads;
  if (row >= push.rows) return;
  vec4 sum = vec4(0);
  for (uint lane = 0; lane < 4 && quad * 4 + lane < push.channels; ++lane) {
    const uint first = kept_offset(row * push.channels + quad * 4 + lane);
    for (uint r = 0; r < push.reduced; ++r) {
      const uint at = first + reduced_offset(r);
      sum[lane] += LOAD_INPUT(at / 4)[at % 4];
    }
  }
  STORE_OUTPUT(i, epilogue(sum * push.scale, row, quad));
}
