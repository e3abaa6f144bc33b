#version 450
// Filters the result of frame_columns.comp along the columns of the upright image and writes the network's input:
// channels last, or patches, with fill around the image. One pixel per invocation.
#define OUTPUT_TYPE float
#define INPUT_TYPE uint
#include "common.glsl"

layout(constant_id = 3) const uint kChannels = 3;

layout(std430, binding = 2) readonly buffer Tables { int tables[]; };

layout(push_constant) uniform Push {
  uint height, width;  // of the network's input
  uint top, left, rows, columns;  // position and size of the image in it
  uint first_line;                // of the input
  uint table, entry;              // as in frame_columns.comp
  uint levels;  // offset of the output values, as bits: 256 per channel, one per level, then a fill value each
  uint reversed;  // blue first
  uint patch_side, block_side;  // as in Normalizer: pixels, patches; 0 without patches
  uint frames;                    // copies of a patch
} push;

const int kPrecisionBits = 22;

// Offsets of a pixel's first element, of its further channels, and of its copies.
uvec3 places(uint x, uint y) {
  if (push.patch_side == 0) return uvec3((y * push.width + x) * kChannels, 1, 0);
  const uint p = push.patch_side, side = p * push.block_side, area = p * p;
  const uint block = y / side * (push.width / side) + x / side;
  const uint number = (block * push.block_side + y % side / p) * push.block_side + x % side / p;
  const uint first = number * kChannels * push.frames * area + y % p * p + x % p;
  return uvec3(first, push.frames * area, area);
}

void main() {
  const uint i = linear_index(), y = i / push.width, x = i % push.width;
  if (y >= push.height) return;
  const uint row = y - push.top, column = x - push.left;  // negative differences wrap to large values
  const bool inside = row < push.rows && column < push.columns;
  ivec3 sum = ivec3(1 << (kPrecisionBits - 1));
  if (inside) {
    const uint entry = push.table + row * push.entry;
    const uint begin = uint(tables[entry]) - push.first_line, count = uint(tables[entry + 1]);
    for (uint k = 0; k < count; ++k) {
      const uint levels = input_data[(begin + k) * push.columns + column];
      sum += ivec3(levels & 0xff, levels >> 8 & 0xff, levels >> 16) * tables[entry + 2 + k];
    }
  }
  const uvec3 levels = uvec3(clamp(sum >> kPrecisionBits, 0, 255));
  const uvec3 to = places(x, y);
  for (uint c = 0; c < kChannels; ++c) {
    const uint level = levels[push.reversed != 0 ? kChannels - 1 - c : c];
    const int bits = tables[push.levels + (inside ? c * 256 + level : kChannels * 256 + c)];
    for (uint copy = 0; copy < max(push.frames, 1); ++copy)
      output_data[to.x + c * to.y + copy * to.z] = intBitsToFloat(bits);
  }
}
