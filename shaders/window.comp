#version 450
// Partitions images into windows, row by row of quads, or the inverse; rolls them before, or after.
#include "common.glsl"
#include "epilogue.glsl"

layout(constant_id = 7) const uint kReverse = 0;

layout(push_constant) uniform Push {
  EPILOGUE_PUSH
  uint rows;  // of the output
  uint height, width;
  uint window_h, window_w;
  uint shift_h, shift_w;  // below height and width
} push;
EPILOGUE

void main() {
  const uint i = linear_index();
  const uint row = i / push.row_quads, quad = i % push.row_quads;
  if (row >= push.rows) return;
  const uint windows_y = push.height / push.window_h, windows_x = push.width / push.window_w;
  uint from;
  if (kReverse == 0) {
    const uint window = row / (push.window_h * push.window_w), cell = row % (push.window_h * push.window_w);
    const uint y = window / windows_x % windows_y * push.window_h + cell / push.window_w + push.shift_h;
    const uint x = window % windows_x * push.window_w + cell % push.window_w + push.shift_w;
    from = (window / (windows_y * windows_x) * push.height + y % push.height) * push.width + x % push.width;
  } else {
    const uint y = (row / push.width % push.height + push.height - push.shift_h) % push.height;
    const uint x = (row % push.width + push.width - push.shift_w) % push.width;
    const uint image = row / (push.height * push.width);
    const uint window = (image * windows_y + y / push.window_h) * windows_x + x / push.window_w;
    from = (window * push.window_h + y % push.window_h) * push.window_w + x % push.window_w;
  }
  STORE_OUTPUT(i, epilogue(LOAD_INPUT(from * push.row_quads + quad), row, quad));
}
