#version 450
// Converts a frame's pixels to RGB levels and filters them along the rows of the upright image, which are the frame's
// columns if it is rotated by 90 degrees. Integer sums with Pillow's precision.
#define OUTPUT_TYPE uint  // red, green, blue, one byte each
#define INPUT_TYPE uint
#include "common.glsl"

layout(constant_id = 3) const uint kSamples = 0;  // image::Frame::Samples
layout(constant_id = 4) const bool kWide = false;
layout(constant_id = 5) const bool kHalfRows = false;
layout(constant_id = 6) const bool kTransposed = false;
layout(constant_id = 7) const bool kGray = false;  // one channel, stored in all three

layout(std430, binding = 2) readonly buffer Tables { int tables[]; };

layout(push_constant) uniform Push {
  uint lines, outputs;              // of the result
  uint first_line, left, top;       // in the frame's pixels
  uint table, entry;                // offsets in words: of the entries (first position, count, coefficients)
  uint plane[3], row[3], pixel[3];  // bytes: offset of a plane, from row to row, from sample to sample
  float luma, red_v, green_u, green_v, blue_u, black;
} push;

const uint kRgb = 0, kYuv = 1;
const int kPrecisionBits = 22;

uint byte_at(uint at) { return input_data[at / 4] >> at % 4 * 8 & 0xff; }

uint address(uint plane, uint x, uint y) { return push.plane[plane] + y * push.row[plane] + x * push.pixel[plane]; }

// As a level; the upper 10 of 16 bits are used.
float level_at(uint plane, uint x, uint y) {
  const uint at = address(plane, x, y);
  return kWide ? float((byte_at(at) | byte_at(at + 1) << 8) >> 6) / 4 : float(byte_at(at));
}

uvec3 levels_of(vec3 rgb) { return uvec3(clamp(floor(rgb + 0.5), vec3(0), vec3(255))); }

uvec3 rgb_at(uint x, uint y) {
  if (kSamples == kRgb) return uvec3(byte_at(address(0, x, y)), byte_at(address(1, x, y)), byte_at(address(2, x, y)));
  const float luma = (level_at(0, x, y) - push.black) * push.luma;
  if (kSamples != kYuv) return levels_of(vec3(luma));
  const uint row = kHalfRows ? y / 2 : y;
  const float u = level_at(1, x / 2, row) - 128, v = level_at(2, x / 2, row) - 128;
  return levels_of(luma + vec3(v * push.red_v, u * push.green_u + v * push.green_v, u * push.blue_u));
}

void main() {
  const uint i = linear_index(), line = i / push.outputs, entry = push.table + i % push.outputs * push.entry;
  if (line >= push.lines) return;
  const uint begin = uint(tables[entry]), count = uint(tables[entry + 1]), across = push.first_line + line;
  ivec3 sum = ivec3(1 << (kPrecisionBits - 1));
  for (uint k = 0; k < count; ++k) {
    const uint along = begin + k;
    uvec3 rgb = kTransposed ? rgb_at(push.left + across, push.top + along)
                            : rgb_at(push.left + along, push.top + across);
    if (kGray) rgb = uvec3(rgb.r * 19595 + rgb.g * 38470 + rgb.b * 7471 + 0x8000 >> 16);  // like luma() in sdk/image
    sum += ivec3(rgb) * tables[entry + 2 + k];
  }
  const uvec3 levels = uvec3(clamp(sum >> kPrecisionBits, 0, 255));
  output_data[i] = levels.r | levels.g << 8 | levels.b << 16;
}
