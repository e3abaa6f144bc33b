#version 450
// Resizes images. One output quad per invocation, from 1, 2 x 2 or 4 x 4 cells; edges are repeated.
#include "common.glsl"
#include "epilogue.glsl"

layout(constant_id = 7) const uint kCells = 1;  // per side: 1 nearest, 2 bilinear, 4 bicubic

layout(push_constant) uniform Push {
  EPILOGUE_PUSH
  uint batch;
  int height, width;  // of the input
  int out_height, out_width;
  // Output coordinate i is at (i * factor + offset) / divisor in the input, exactly in integers.
  int factor_h, offset_h, divisor_h;
  int factor_w, offset_w, divisor_w;
} push;
EPILOGUE

// The last cell at or before position `at` / divisor, and the distance from it.
int cell(int at, int divisor, out float fraction) {
  const int shifted = at + divisor;  // non-negative
  fraction = float(shifted % divisor) / float(divisor);
  return shifted / divisor - 1;
}

// Weights of the cells around a position.
vec4 weights(float t) {
  if (kCells == 1) return vec4(1, 0, 0, 0);
  if (kCells == 2) return vec4(1 - t, t, 0, 0);
  // Keys' cubic convolution with a = -0.75.
  const float s = 1 - t;
  return vec4(-0.75 * t * s * s, 1 + t * t * (1.25 * t - 2.25), 1 + s * s * (1.25 * s - 2.25), -0.75 * s * t * t);
}

void main() {
  const uint i = linear_index();
  const uint row = i / push.row_quads, quad = i % push.row_quads;
  const uint line = row / uint(push.out_width);
  if (line >= push.batch * uint(push.out_height)) return;
  float fraction_y, fraction_x;
  const int y = cell(int(line) % push.out_height * push.factor_h + push.offset_h, push.divisor_h, fraction_y);
  const int x = cell(int(row) % push.out_width * push.factor_w + push.offset_w, push.divisor_w, fraction_x);
  const vec4 weights_y = weights(fraction_y), weights_x = weights(fraction_x);
  const int before = (int(kCells) - 1) / 2;
  vec4 value = vec4(0);
  for (int v = 0; v < kCells; ++v) {
    vec4 sum = vec4(0);
    const int cell_y = int(line) / push.out_height * push.height + clamp(y - before + v, 0, push.height - 1);
    for (int u = 0; u < kCells; ++u) {
      const int cell_x = clamp(x - before + u, 0, push.width - 1);
      sum += weights_x[u] * LOAD_INPUT(uint(cell_y * push.width + cell_x) * push.row_quads + quad);
    }
    value += weights_y[v] * sum;
  }
  STORE_OUTPUT(i, epilogue(value, row, quad));
}
