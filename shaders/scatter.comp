#version 450
// Writes updates to positions of rows, or combines them with the elements there: the operand's rows are indices, as in
// gather.comp, the weights' the updates. An invocation processes a quad and applies all updates of its row in order,
// since indices may repeat. An index out of range, which ends a run on the CPU, makes the whole row NaN.
#include "common.glsl"
#include "kinds.glsl"

layout(constant_id = 3) const uint kKind = 0;  // fbs::ScatterKind

layout(push_constant) uniform Push {
  uint rows, channels, row_quads;
  uint count, count_quads;  // indices per row
} push;

float combined(float there, float update) {
  switch (kKind) {
    case kScatterAdd: return there + update;
    case kScatterMul: return there * update;
    case kScatterMax: return update > there ? update : there;
    case kScatterMin: return update < there ? update : there;
    case kScatterSet: break;
  }
  return update;
}

void main() {
  const uint i = linear_index(), row = i / push.row_quads, first = i % push.row_quads * 4;
  if (row >= push.rows) return;
  vec4 value = LOAD_INPUT(i);
  for (uint k = 0; k < push.count; ++k) {
    const uint at = row * push.count_quads + k / 4;
    const int index = int(LOAD_OPERAND(at)[k % 4]);
    const uint place = uint(index < 0 ? index + int(push.channels) : index);
    if (place >= push.channels) value = vec4(uintBitsToFloat(0x7fc00000));
    else if (place >= first && place < first + 4)
      value[place - first] = combined(value[place - first], LOAD_WEIGHT(at)[k % 4]);
  }
  STORE_OUTPUT(i, mask_lanes(value, first, push.channels));
}
