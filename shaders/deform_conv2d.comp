#version 450
// Deformable convolution: weights as in conv2d.comp; each kernel cell samples four pixels bilinearly. Per invocation:
// one pixel x kTileQuads output quads of one group. The operand's rows hold the offsets of all cells, then their masks.
#include "common.glsl"
#include "tile.glsl"

layout(constant_id = 3) const bool kMasked = false;

layout(push_constant) uniform Push {
  uint columns;
  uint pixels;                       // of the output
  uint output_height, output_width;
  int input_height, input_width;
  uint row_quads, channels;          // per output pixel
  uint input_quads, block_quads;     // per input pixel; per offset group
  uint group_inputs, group_outputs;  // quads per group
  uint kernel_h, kernel_w;
  int stride_h, stride_w, dilation_h, dilation_w, pad_top, pad_left;
  uint bias;
  uint operand_quads, first_mask;  // per row; index of the first mask in it
} push;

float operand(uint row, uint i) { return LOAD_OPERAND(row * push.operand_quads + i / 4)[i % 4]; }

// The sampling position at `offset` from `from`: the row or column before it (far outside if the offset is not finite)
// and the fraction after it.
int before(int from, float offset, out float rest) {
  const float whole = floor(offset);
  rest = offset - whole;
  return abs(offset) < 16777216.0 ? from + int(whole) : -2;
}

void main() {
  const uvec2 tile = tile_of_invocation(push.columns, push.row_quads) * uvec2(kTileQuads, 1);
  if (tile.x >= push.row_quads || tile.y >= push.pixels) return;
  const uint pixel = tile.y, line = pixel / push.output_width, taps = push.kernel_h * push.kernel_w;
  const int top = int(line % push.output_height) * push.stride_h - push.pad_top;
  const int left = int(pixel % push.output_width) * push.stride_w - push.pad_left;
  const uint image = line / push.output_height * uint(push.input_height);
  const uint first_input = tile.x / push.group_outputs * push.group_inputs;

  uint weights[kTileQuads];
  vec4 sums[kTileQuads];
  [[unroll]] for (uint q = 0; q < kTileQuads; ++q) {
    const uint quad = min(tile.x + q, push.row_quads - 1);  // beyond the edge: repeats the last one, not stored
    weights[q] = quad * taps * push.group_inputs * 4;
    sums[q] = LOAD_BIAS(quad);
  }
  for (uint tap = 0; tap < taps; ++tap) {
    const int tap_y = top + int(tap / push.kernel_w) * push.dilation_h;
    const int tap_x = left + int(tap % push.kernel_w) * push.dilation_w;
    for (uint i = 0; i < push.group_inputs;) {
      const uint block = (first_input + i) / push.block_quads, cell = block * taps + tap;
      const uint end = min((block + 1) * push.block_quads - first_input, push.group_inputs);
      float down, right;
      const int y = before(tap_y, operand(pixel, 2 * cell), down);
      const int x = before(tap_x, operand(pixel, 2 * cell + 1), right);
      if (y < -1 || y >= push.input_height || x < -1 || x >= push.input_width) {
        i = end;
        continue;
      }
      // Pixels outside are read from the edge with weight 0.
      const vec2 rows = vec2(y < 0 ? 0 : 1 - down, y + 1 < push.input_height ? down : 0);
      const vec2 columns = vec2(x < 0 ? 0 : 1 - right, x + 1 < push.input_width ? right : 0);
      const float mask = kMasked ? operand(pixel, push.first_mask + cell) : 1;
      const vec4 shares = mask * vec4(rows.x * columns, rows.y * columns);
      const uvec2 lines = (image + uvec2(max(y, 0), min(y + 1, push.input_height - 1))) * uint(push.input_width);
      const uvec2 places = uvec2(max(x, 0), min(x + 1, push.input_width - 1));
      const uvec4 corners = (lines.xxyy + places.xyxy) * push.input_quads + first_input;
      for (; i < end; ++i) {
        const vec4 value = shares.x * LOAD_INPUT(corners.x + i) + shares.y * LOAD_INPUT(corners.y + i) +
                           shares.z * LOAD_INPUT(corners.z + i) + shares.w * LOAD_INPUT(corners.w + i);
        [[unroll]] for (uint q = 0; q < kTileQuads; ++q)
          sums[q] = multiply_add(sums[q], value, LOAD_WEIGHTS4(weights[q] + (tap * push.group_inputs + i) * 4));
      }
    }
  }
  [[unroll]] for (uint q = 0; q < kTileQuads; ++q)
    if (tile.x + q < push.row_quads)
      STORE_OUTPUT(pixel * push.row_quads + tile.x + q, mask_lanes(sums[q], (tile.x + q) * 4, push.channels));
}
