// Common to all kernels: bindings, quads, workgroup size. docs/vulkan.md, "How it works".

layout(local_size_x_id = 0, local_size_y_id = 1, local_size_z_id = 2) in;

// A quad is four consecutive elements of a row; rows are padded to whole quads, and padding lanes are zero.
#ifdef FLOAT16
#define QUAD uvec2
vec4 unpack_quad(uvec2 quad) { return vec4(unpackHalf2x16(quad.x), unpackHalf2x16(quad.y)); }
// packHalf2x16 may round in any direction, and software drivers truncate. The value is first rounded (to nearest even)
// to float16's 11 bits, so that packHalf2x16 is exact.
uvec2 pack_quad(vec4 value) {
  const uvec4 bits = floatBitsToUint(value);
  value = uintBitsToFloat((bits + 0xfff + (bits >> 13 & 1)) & ~0x1fffu);
  return uvec2(packHalf2x16(value.xy), packHalf2x16(value.zw));
}
#else
#define QUAD vec4
vec4 unpack_quad(vec4 quad) { return quad; }
vec4 pack_quad(vec4 value) { return value; }
#endif

// Kernels whose bindings have other element types define these before they include this file.
#ifndef OUTPUT_TYPE
#define OUTPUT_TYPE QUAD
#endif
#ifndef INPUT_TYPE
#define INPUT_TYPE QUAD
#endif
layout(std430, binding = 0) buffer Output { OUTPUT_TYPE output_data[]; };
layout(std430, binding = 1) readonly buffer Input { INPUT_TYPE input_data[]; };
layout(std430, binding = 2) readonly buffer Weights { QUAD weight_data[]; };
#ifdef STATE_TYPE  // kernels that update a state of fixed size
layout(std430, binding = 3) buffer State { STATE_TYPE state_data[]; };
#else
layout(std430, binding = 3) readonly buffer Operand { QUAD operand_data[]; };
#endif

#define LOAD_INPUT(i) unpack_quad(input_data[i])
#define LOAD_WEIGHT(i) unpack_quad(weight_data[i])
#define LOAD_OPERAND(i) unpack_quad(operand_data[i])
#define STORE_OUTPUT(i, value) output_data[i] = pack_quad(value)

// The invocation's index in a one-dimensional dispatch that may be folded into two (sdk/gpu/lowering/program.h:
// spread()).
uint linear_index() {
  return gl_GlobalInvocationID.y * (gl_NumWorkGroups.x * gl_WorkGroupSize.x) + gl_GlobalInvocationID.x;
}

// `value` with the lanes beyond `length` zeroed; `first` is the index of lane 0 in the row.
vec4 mask_lanes(vec4 value, uint first, uint length) {
  return first + 4 <= length ? value : mix(vec4(0), value, lessThan(uvec4(first) + uvec4(0, 1, 2, 3), uvec4(length)));
}
