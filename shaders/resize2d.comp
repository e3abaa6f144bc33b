#version 450
// Enlarges by whole factors, one output quad an invocation. Bilinear: half-pixel centres, edges clamped.
#include "common.glsl"
#include "epilogue.glsl"

layout(constant_id = 7) const uint kBilinear = 0;

layout(push_constant) uniform Push {
  EPILOGUE_PUSH
  uint batch;
  uint height, width;  // of the input
  uint scale_h, scale_w;
} push;
EPILOGUE

vec4 cell(uint n, uint y, uint x, uint quad) {
  return LOAD_INPUT(((n * push.height + y) * push.width + x) * push.row_quads + quad);
}

void main() {
  const uint i = linear_index();
  const uint row = i / push.row_quads, quad = i % push.row_quads;
  const uint out_width = push.width * push.scale_w, out_height = push.height * push.scale_h;
  if (row >= push.batch * out_height * out_width) return;
  const uint x = row % out_width, y = row / out_width % out_height, n = row / (out_width * out_height);
  vec4 value;
  if (kBilinear == 0) {
    value = cell(n, y / push.scale_h, x / push.scale_w, quad);
  } else {
    // The centre (i + 0.5) / scale - 0.5, not below 0, in whole steps of 1 / (2 scale): exact.
    const ivec2 steps = 2 * ivec2(push.scale_h, push.scale_w);
    const ivec2 centre = max(2 * ivec2(y, x) + 1 - steps / 2, ivec2(0));
    const uvec2 first = uvec2(centre / steps), second = min(first + 1, uvec2(push.height, push.width) - 1);
    const vec2 weight = vec2(centre % steps) / vec2(steps);
    value = mix(mix(cell(n, first.x, first.y, quad), cell(n, first.x, second.y, quad), weight.y),
                mix(cell(n, second.x, first.y, quad), cell(n, second.x, second.y, quad), weight.y), weight.x);
  }
  STORE_OUTPUT(i, epilogue(value, row, quad));
}
