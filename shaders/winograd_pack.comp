#version 450
// Transforms 3x3 kernels: coordinate b of a quad counts the n x n points; stride_b is the stride of the taps in the
// source.
#include "pack.glsl"
#include "winograd.glsl"

// The weights of the three taps of a row or column for point `point` of `side`.
vec3 tap_weights(uint point, uint side) {
  if (point == 0) return side == 4 ? vec3(1, 0, 0) : vec3(1 / (kA2 * kB2), 0, 0);
  if (point == side - 1) return vec3(0, 0, 1);
  if (side == 4) return vec3(0.5, point == 1 ? 0.5 : -0.5, 0.5);
  const float root = (point & 1) == 1 ? (point == 1 ? kA : kB) : (point == 2 ? -kA : -kB);
  const float norm = point <= 2 ? 1 / (2 * kA2 * (kA2 - kB2)) : 1 / (2 * kB2 * (kB2 - kA2));
  return vec3(1, root, root * root) * norm;
}

void main() {
  const uint i = linear_index();
  if (i >= push.quads) return;
  const uint at[4] = coordinates(i);
  const uint side = push.size_b == 16 ? 4 : 6;
  const vec3 rows = tap_weights(at[1] / side, side), columns = tap_weights(at[1] % side, side);
  const uint base = push.input_offset + at[0] * push.stride_a + at[2] * push.stride_c + at[3] * push.stride_d;
  vec4 value = vec4(0);
  for (uint lane = 0; lane < 4; ++lane) {
    if (!inside(at) || !inside(at, lane)) continue;
    for (uint tap = 0; tap < 9; ++tap)
      value[lane] += rows[tap / 3] * columns[tap % 3] * element(base + tap * push.stride_b + lane * push.stride_lane);
  }
  STORE_OUTPUT(push.output_offset + i, value);
}
