// Products with few rows: invocations share the sums of an output quad. The kernels that include this combine the
// partial sums.
#include "common.glsl"
#include "epilogue.glsl"
#include "tile.glsl"
#include "weights.glsl"

layout(constant_id = 10) const uint kSplit = 64;  // invocations that share a quad's sums, a power of two

layout(push_constant) uniform Push {
  EPILOGUE_PUSH
  uint rows;
  uint input_quads;
  uint bias;
  uint scales;
} push;
EPILOGUE

const uint kThreads = 64;  // the workgroup

// The invocation's output quad, the first of its rows, and its index among the kSplit invocations.
struct Share {
  uint quad, row, part;
};

Share share_of_invocation() {
  const uint quads = kThreads / kSplit, blocks = (push.row_quads + quads - 1) / quads;
  const uint group = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
  return Share(group % blocks * quads + gl_LocalInvocationIndex / kSplit, group / blocks * kTileRows,
               gl_LocalInvocationIndex % kSplit);
}

// Neighbouring invocations read neighbouring weights. Quads and rows beyond the edge repeat the last one.
void partial_sums(Share share, out vec4 sums[kTileRows]) {
  uint inputs[kTileRows];
  [[unroll]] for (uint r = 0; r < kTileRows; ++r) {
    sums[r] = vec4(0);
    inputs[r] = min(share.row + r, push.rows - 1) * push.input_quads;
  }
  const uint quad = min(share.quad, push.row_quads - 1);
  const uint weights = quad * push.input_quads * 4, scales = FIRST_SCALE(quad);
  for (uint i = share.part; i < push.input_quads; i += kSplit) {
    const Weights4 w = load_weights4(weights + i * 4, scales, i);
    [[unroll]] for (uint r = 0; r < kTileRows; ++r) sums[r] = multiply_add(sums[r], LOAD_INPUT(inputs[r] + i), w);
  }
}

void store_sum(Share share, uint r, vec4 sum) {
  if (share.quad >= push.row_quads || share.row + r >= push.rows) return;
  STORE_OUTPUT((share.row + r) * push.row_quads + share.quad,
               epilogue(sum + LOAD_BIAS(share.quad), share.row + r, share.quad));
}
