#version 450
// Maximum or average over windows. One output quad per invocation.
#include "common.glsl"
#include "epilogue.glsl"

layout(constant_id = 7) const uint kAverage = 0;
layout(constant_id = 8) const uint kCountPadding = 0;  // average: the divisor counts padding cells

layout(push_constant) uniform Push {
  EPILOGUE_PUSH
  int batch;
  int height, width;          // of the input
  int out_height, out_width;
  uint kernel;                   // height << 16 | width
  uint stride;                   // likewise
  int top, left, bottom, right;  // padding
} push;
EPILOGUE

void main() {
  const uint i = linear_index();
  const uint row = i / push.row_quads, quad = i % push.row_quads;
  if (row >= uint(push.batch * push.out_height * push.out_width)) return;
  const int x = int(row) % push.out_width, y = int(row) / push.out_width % push.out_height;
  const int n = int(row) / (push.out_width * push.out_height);
  const int top = y * int(push.stride >> 16) - push.top, left = x * int(push.stride & 0xffff) - push.left;
  // Cells that ceil_mode adds beyond the padding do not count.
  const int bottom = min(top + int(push.kernel >> 16), push.height + push.bottom);
  const int right = min(left + int(push.kernel & 0xffff), push.width + push.right);
  const int y0 = max(top, 0), y1 = min(bottom, push.height), x0 = max(left, 0), x1 = min(right, push.width);
  vec4 value = vec4(kAverage != 0 ? 0.0 : uintBitsToFloat(0xff800000));
  for (int v = y0; v < y1; ++v) {
    uint at = uint((n * push.height + v) * push.width + x0) * push.row_quads + quad;
    for (int u = x0; u < x1; ++u, at += push.row_quads) {
      const vec4 cell = LOAD_INPUT(at);
      value = kAverage != 0 ? value + cell : max(value, cell);
    }
  }
  if (kAverage != 0) {
    const int cells = kCountPadding != 0 ? (bottom - top) * (right - left) : (y1 - y0) * (x1 - x0);
    value /= float(cells);
  }
  STORE_OUTPUT(i, epilogue(value, row, quad));
}
