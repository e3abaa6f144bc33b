#version 450
// An epilogue with nothing before it: elementwise operators, one quad an invocation.
#include "common.glsl"
#include "epilogue.glsl"

layout(push_constant) uniform Push {
  EPILOGUE_PUSH
  uint rows;
} push;
EPILOGUE

void main() {
  const uint i = linear_index();
  if (i >= push.rows * push.row_quads) return;
  STORE_OUTPUT(i, epilogue(LOAD_INPUT(i), i / push.row_quads, i % push.row_quads));
}
