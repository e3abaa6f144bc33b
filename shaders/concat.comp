#version 450
// Writes one input into its part of the output. A quad that begins in an earlier part keeps its first lanes.
#include "common.glsl"

layout(push_constant) uniform Push {
  uint rows, channels, row_quads;            // of the input
  uint out_row_quads;
  uint first;                                 // first channel of the part in the output
  uint part_quads;                            // quads of an output row that the part touches
  uint inner_rows, outer_stride, row_offset;  // input row r: row r / inner * outer_stride + row_offset + r % inner
} push;

void main() {
  const uint i = linear_index();
  const uint row = i / push.part_quads, quad = i % push.part_quads + push.first / 4;
  if (row >= push.rows) return;
  const uint out_row = row / push.inner_rows * push.outer_stride + push.row_offset + row % push.inner_rows;
  const uint out_quad = out_row * push.out_row_quads + quad;
  vec4 value = vec4(0);
  if (push.first % 4 == 0) {
    value = LOAD_INPUT(row * push.row_quads + quad - push.first / 4);
  } else {
    if (quad * 4 < push.first) value = unpack_quad(output_data[out_quad]);
    for (uint lane = 0; lane < 4; ++lane) {
      const int c = int(quad * 4 + lane) - int(push.first);
      if (c >= 0) value[lane] = c < int(push.channels) ? LOAD_INPUT(row * push.row_quads + uint(c) / 4)[c % 4] : 0.0;
    }
  }
  STORE_OUTPUT(out_quad, value);
}
