// Register tiles: how kernels split a one-dimensional workgroup. It covers a block of `columns` tiles along the
// output's quads and, with the remaining factor, tiles along its rows (sdk/gpu/lowering/tiles.h). Neighbouring
// invocations access neighbouring weights and quads, and narrow outputs leave few invocations idle.
#extension GL_EXT_control_flow_attributes : require

layout(constant_id = 7) const uint kTileRows = 4;
layout(constant_id = 8) const uint kTileQuads = 1;

// The invocation's tile: x along quads, y along rows. None beyond the output's `quads` quads or `row_tiles` row tiles.
uvec2 tile_of_invocation(uint columns, uint quads) {
  const uint quad_tiles = (quads + kTileQuads - 1) / kTileQuads;
  const uint column_blocks = (quad_tiles + columns - 1) / columns, block_rows = gl_WorkGroupSize.x / columns;
  const uint group = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
  const uint row = gl_LocalInvocationIndex / columns;
  if (row >= block_rows) return uvec2(quad_tiles);
  return uvec2(group % column_blocks * columns + gl_LocalInvocationIndex % columns,
               group / column_blocks * block_rows + row);
}

// The type of factors: vec4, or f16vec4 with float16 arithmetic. Then products of a block of inputs are accumulated in
// float16 and blocks in `sums` in float32, since float16 sums over all inputs exceed the error bound.
#ifdef FLOAT16_ARITHMETIC
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#define TERM f16vec4
#define TERM_OF(quad) f16vec4(unpackFloat2x16((quad).x), unpackFloat2x16((quad).y))
const uint kFloat16Block = 4;  // input quads; the same as in sdk/gpu/lowering/tiles.h
#define BEGIN_BLOCK                         \
  TERM block_sums[kTileRows * kTileQuads];  \
  [[unroll]] for (uint k = 0; k < kTileRows * kTileQuads; ++k) block_sums[k] = TERM(0);
#define END_BLOCK [[unroll]] for (uint k = 0; k < kTileRows * kTileQuads; ++k) sums[k] += vec4(block_sums[k]);
// Runs ADD_QUAD(i), which the kernel defines, for input quads 0 to `end`; it adds the products of a quad to
// `block_sums`. Whole blocks are unrolled, since compilers copy loop-carried float16 values one by one.
#define ADD_QUADS(end)                                                               \
  uint first = 0;                                                                    \
  for (; first + kFloat16Block <= (end); first += kFloat16Block) {                   \
    BEGIN_BLOCK                                                                      \
    [[unroll]] for (uint i = 0; i < kFloat16Block; ++i) { ADD_QUAD(first + i) }      \
    END_BLOCK                                                                        \
  }                                                                                  \
  if (first < (end)) {                                                               \
    BEGIN_BLOCK                                                                      \
    for (; first < (end); ++first) { ADD_QUAD(first) }                               \
    END_BLOCK                                                                        \
  }
#else
#define TERM vec4
#define TERM_OF(quad) unpack_quad(quad)
#define BEGIN_BLOCK
#define END_BLOCK
#define block_sums sums
#define ADD_QUADS(end) \
  for (uint i = 0; i < (end); ++i) { ADD_QUAD(i) }
#endif
#define LOAD_INPUT_TERM(i) TERM_OF(input_data[i])
#define LOAD_WEIGHT_TERM(i) TERM_OF(weight_data[i])

// Weights of the four outputs of a quad for the four inputs of a quad.
struct Weights4 {
  TERM x, y, z, w;
};
#define LOAD_WEIGHTS4(i) \
  Weights4(LOAD_WEIGHT_TERM(i), LOAD_WEIGHT_TERM((i) + 1), LOAD_WEIGHT_TERM((i) + 2), LOAD_WEIGHT_TERM((i) + 3))

// One operation per line: each becomes a fused multiply-add.
TERM multiply_add(TERM sum, TERM x, Weights4 weights) {
  sum += x.x * weights.x;
  sum += x.y * weights.y;
  sum += x.z * weights.z;
  sum += x.w * weights.w;
  return sum;
}

// A quad of the bias, which begins at quad `bias` of the weights; 0: none.
#define LOAD_BIAS(quad) (push.bias == 0 ? vec4(0) : LOAD_WEIGHT(push.bias + (quad)))
