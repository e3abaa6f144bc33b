#version 450
// A binary operator whose operands broadcast along any dimensions. One output quad per invocation.
#include "common.glsl"
#include "epilogue.glsl"

layout(constant_id = 7) const uint kKind = 0;  // as in epilogue.glsl

layout(push_constant) uniform Push {
  EPILOGUE_PUSH
  uint rows;         // of the output
  uint size[4];      // of the output's dimensions except the outermost and the last, padded with 1 on the left
  uint a_stride[5];  // in rows, 0 along broadcast dimensions
  uint b_stride[5];
  uint row_quads_ab;  // quads per row: a's << 16 | b's; 0: one element for the whole row
} push;
EPILOGUE

void main() {
  const uint i = linear_index();
  const uint row = i / push.row_quads, quad = i % push.row_quads;
  if (row >= push.rows) return;
  uint rest = row, a_row = 0, b_row = 0;
  for (int d = 3; d >= 0; --d) {
    const uint at = rest % push.size[d];
    rest /= push.size[d];
    a_row += at * push.a_stride[d + 1];
    b_row += at * push.b_stride[d + 1];
  }
  a_row += rest * push.a_stride[0];
  b_row += rest * push.b_stride[0];
  const uint a_quads = push.row_quads_ab >> 16, b_quads = push.row_quads_ab & 0xffff;
  vec4 a = LOAD_INPUT(a_quads == 0 ? a_row : a_row * a_quads + quad);
  vec4 b = LOAD_OPERAND(b_quads == 0 ? b_row : b_row * b_quads + quad);
  if (a_quads == 0) a = a.xxxx;
  if (b_quads == 0) b = b.xxxx;
  STORE_OUTPUT(i, epilogue(epilogue_step(kKind, a, b, vec2(0)), row, quad));
}
