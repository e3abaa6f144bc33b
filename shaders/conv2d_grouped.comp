#version 450
// Convolutions, transposed ones included, with groups that are not whole quads: every lane reads its own group's inputs
// one by one. Weights as in conv2d.comp. One output quad per invocation.
#include "common.glsl"
#include "epilogue.glsl"
#include "tile.glsl"
#include "conv.glsl"

layout(constant_id = 9) const bool kTransposed = false;

layout(push_constant) uniform Push { CONV_PUSH } push;
EPILOGUE

int source_of(int at, uint tap, int stride, int dilation, int pad) {
  return kTransposed ? transposed_source(at, int(tap), stride, dilation, pad)
                     : source(at, int(tap), stride, dilation, pad);
}

void main() {
  const uint i = linear_index();
  if (i >= push.tiles * push.row_quads) return;
  const uint quad = i % push.row_quads, pixel = i / push.row_quads;
  const int output_x = int(pixel % push.output_width), output_y = int(pixel / push.output_width % push.output_height);
  const int image = int(pixel / push.output_width / push.output_height) * push.input_height;
  const uint taps = push.kernel_h * push.kernel_w, tap_weights = (push.group_inputs + 3) / 4 * 4;
  uvec4 first;  // each lane's first input channel
  [[unroll]] for (uint lane = 0; lane < 4; ++lane)
    first[lane] = min(quad * 4 + lane, push.channels - 1) / push.group_outputs * push.group_inputs;

  vec4 sum = LOAD_BIAS(quad);
  for (uint tap = 0; tap < taps; ++tap) {
    const int y = source_of(output_y, tap / push.kernel_w, push.stride_h, push.dilation_h, push.pad_top);
    const int x = source_of(output_x, tap % push.kernel_w, push.stride_w, push.dilation_w, push.pad_left);
    if (!inside(y, push.input_height) || !inside(x, push.input_width)) continue;
    const uint inputs = uint((image + y) * push.input_width + x) * push.input_quads;
    for (uint channel = 0; channel < push.group_inputs; ++channel) {
      vec4 value;
      [[unroll]] for (uint lane = 0; lane < 4; ++lane) {
        const uint at = first[lane] + channel;
        value[lane] = LOAD_INPUT(inputs + at / 4)[at % 4];
      }
      sum += value * LOAD_WEIGHT((quad * taps + tap) * tap_weights + channel);
    }
  }
  STORE_OUTPUT(i, epilogue(sum, pixel, quad));
}
