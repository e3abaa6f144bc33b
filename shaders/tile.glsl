// Register tiles: how kernels divide a workgroup of one dimension. It covers a block of `columns` tiles along the
// output's quads and as many tiles along its rows as there are invocations left (sdk/gpu/tiles.h), so that neighbours
// read neighbouring weights and write neighbouring quads, and narrow outputs leave few invocations idle.
#extension GL_EXT_control_flow_attributes : require

layout(constant_id = 7) const uint kTileRows = 4;
layout(constant_id = 8) const uint kTileQuads = 1;

// The invocation's tile: x along quads, y along rows. One beyond the output's `quads` quads or `row_tiles` tiles of
// rows: none.
uvec2 tile_of_invocation(uint columns, uint quads) {
  const uint quad_tiles = (quads + kTileQuads - 1) / kTileQuads;
  const uint column_blocks = (quad_tiles + columns - 1) / columns, block_rows = gl_WorkGroupSize.x / columns;
  const uint group = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
  const uint row = gl_LocalInvocationIndex / columns;
  if (row >= block_rows) return uvec2(quad_tiles);
  return uvec2(group % column_blocks * columns + gl_LocalInvocationIndex % columns,
               group / column_blocks * block_rows + row);
}

// Weights of the four outputs of a quad, for the four inputs of another.
struct Weights4 {
  vec4 x, y, z, w;
};
#define LOAD_WEIGHTS4(i) Weights4(LOAD_WEIGHT(i), LOAD_WEIGHT((i) + 1), LOAD_WEIGHT((i) + 2), LOAD_WEIGHT((i) + 3))

// One operation a line: each becomes a fused multiply-add.
vec4 multiply_add(vec4 sum, vec4 x, Weights4 weights) {
  sum += x.x * weights.x;
  sum += x.y * weights.y;
  sum += x.z * weights.z;
  sum += x.w * weights.w;
  return sum;
}

// A quad of the bias, which begins at quad `bias` of the weights; 0: there is none.
#define LOAD_BIAS(quad) (push.bias == 0 ? vec4(0) : LOAD_WEIGHT(push.bias + (quad)))
