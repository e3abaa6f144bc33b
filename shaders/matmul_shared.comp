#version 450
// Matrix product as in matmul.comp, for one product: a workgroup stages its inputs and weights in shared memory.
#include "common.glsl"
#include "epilogue.glsl"
#include "tile.glsl"
#include "weights.glsl"

layout(constant_id = 10) const uint kThreadsQuads = 8;  // invocations along quads; the others are along rows
layout(constant_id = 11) const uint kThreadsRows = 8;
layout(constant_id = 12) const uint kDepth = 4;  // input quads staged at a time; with float16 arithmetic, a block

layout(push_constant) uniform Push {
  EPILOGUE_PUSH
  uint rows;
  uint input_quads;
  uint bias;
  uint scales;
} push;
EPILOGUE

const uint kThreads = kThreadsQuads * kThreadsRows;
const uint kBlockRows = kThreadsRows * kTileRows, kBlockQuads = kThreadsQuads * kTileQuads;

shared TERM staged_inputs[kBlockRows * kDepth];        // [row][input quad]
shared TERM staged_weights[kDepth * 4 * kBlockQuads];  // [input][output quad]

void main() {
  const uint column_blocks = (push.row_quads + kBlockQuads - 1) / kBlockQuads;
  const uint group = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
  const uint block_quad = group % column_blocks * kBlockQuads, block_row = group / column_blocks * kBlockRows;
  const uint thread = gl_LocalInvocationIndex;
  // An invocation's quads are kThreadsQuads apart, so that neighbouring invocations access neighbouring quads.
  const uint x = thread % kThreadsQuads, y = thread / kThreadsQuads * kTileRows;

  vec4 sums[kTileRows * kTileQuads];
  [[unroll]] for (uint q = 0; q < kTileQuads; ++q) {
    const uint quad = min(block_quad + x + q * kThreadsQuads, push.row_quads - 1);
    const vec4 bias = LOAD_BIAS(quad);
    [[unroll]] for (uint r = 0; r < kTileRows; ++r) sums[r * kTileQuads + q] = bias;
  }
  for (uint first = 0; first < push.input_quads; first += kDepth) {
    for (uint i = thread; i < kBlockRows * kDepth; i += kThreads) {
      const uint row = block_row + i / kDepth, input_quad = first + i % kDepth;
      staged_inputs[i] =
          row < push.rows && input_quad < push.input_quads ? LOAD_INPUT_TERM(row * push.input_quads + input_quad)
                                                           : TERM(0);
    }
    for (uint i = thread; i < kBlockQuads * kDepth * 4; i += kThreads) {
      const uint quad = block_quad + i / (kDepth * 4), input_index = i % (kDepth * 4), offset = first * 4 + input_index;
      staged_weights[input_index * kBlockQuads + i / (kDepth * 4)] =
          quad < push.row_quads && offset < push.input_quads * 4
              ? load_weight(quad * push.input_quads * 4 + offset, FIRST_SCALE(quad), offset / 4)
              : TERM(0);
    }
    barrier();
    BEGIN_BLOCK
    [[unroll]] for (uint i = 0; i < kDepth; ++i) {
      TERM inputs[kTileRows];
      [[unroll]] for (uint r = 0; r < kTileRows; ++r) inputs[r] = staged_inputs[(y + r) * kDepth + i];
      [[unroll]] for (uint q = 0; q < kTileQuads; ++q) {
        const uint at = i * 4 * kBlockQuads + x + q * kThreadsQuads;
        const Weights4 w = Weights4(staged_weights[at], staged_weights[at + kBlockQuads],
                                    staged_weights[at + 2 * kBlockQuads], staged_weights[at + 3 * kBlockQuads]);
        [[unroll]] for (uint r = 0; r < kTileRows; ++r)
          block_sums[r * kTileQuads + q] = multiply_add(block_sums[r * kTileQuads + q], inputs[r], w);
      }
    }
    END_BLOCK
    barrier();
  }
  [[unroll]] for (uint r = 0; r < kTileRows; ++r)
    [[unroll]] for (uint q = 0; q < kTileQuads; ++q) {
      const uint row = block_row + y + r, quad = block_quad + x + q * kThreadsQuads;
      if (row < push.rows && quad < push.row_quads)
        STORE_OUTPUT(row * push.row_quads + quad, epilogue(sums[r * kTileQuads + q], row, quad));
    }
}
