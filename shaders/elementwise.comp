#version 450
// Elementwise operators as an epilogue without a kernel before it. One quad per invocation.
#include "common.glsl"
#include "epilogue.glsl"
#include "sine.glsl"

layout(push_constant) uniform Push {
  EPILOGUE_PUSH
  uint rows;
} push;
EPILOGUE

void main() {
  const uint i = linear_index();
  if (i >= push.rows * push.row_quads) return;
  vec4 x = LOAD_INPUT(i);
  if (kStep0 == kSin || kStep0 == kCos) x = sine(x, kStep0 == kCos);
  STORE_OUTPUT(i, epilogue(x, i / push.row_quads, i % push.row_quads));
}
