// From an 8-bit image to a network's input, as the blob's preprocessing says: grey, resize, crop or pad, then (x / 255
// - mean) / std.
#pragma once

#include "ferry_generated.h"
#include "sdk/image/pixels.h"

namespace ferry::image {

// A network's input of height x width pixels: `view` at (top, left), and the fill value around it.
struct Seen {
  View view;
  int height = 0, width = 0;
  int top = 0, left = 0;
};

// Maps image coordinates to input coordinates: seen = position * scale + shift. Both are in pixels from the top left
// edge; the first pixel's centre is 0.5.
struct Geometry {
  double scale_x = 1, scale_y = 1;
  double shift_x = 0, shift_y = 0;
};

// One axis of a crop: `count` pixels from `begin`, written at `offset` of the result.
struct Span {
  int begin = 0;
  int count = 0;
  int offset = 0;
};

// The 8-bit part of the preprocessing: the image is resized to width x height, and these columns and rows of it become
// seen_width x seen_height input pixels.
struct Plan {
  int width = 0, height = 0;
  Span columns, rows;
  int seen_width = 0, seen_height = 0;
  Geometry geometry;
};

// An image before normalisation: the caller's samples, or `pixels` if the preprocessing changed them.
struct Prepared : Seen {
  Pixels pixels;
  Geometry geometry;
};

// The size after the resize, before crop or padding. FERRY_INVALID_ARGUMENT: a side would be below 1 or above kMaxSide.
Status resized(const fbs::Preprocess& recipe, int width, int height, int* new_width, int* new_height);

// Includes crop and padding.
Status plan(const fbs::Preprocess& recipe, int width, int height, Plan* out);

// ITU-R 601-2 luma in 16-bit fixed point, as in Pillow's convert("L").
inline uint8_t luma(int red, int green, int blue) {
  return static_cast<uint8_t>((red * 19595 + green * 38470 + blue * 7471 + 0x8000) >> 16);
}

// The 8-bit part of the preprocessing, as in torchvision, timm and transformers (ferry.fbs defines how sides are
// rounded). A centre crop begins at half the difference, rounded to even, or down with crop_floor. `image` is RGB.
// FERRY_INVALID_ARGUMENT: a side would be below 1 or above kMaxSide.
Status prepare(const fbs::Preprocess& recipe, const View& image, Prepared* out);

// The float part, in the preprocessing's order of channels: writes [height, width, channels] to `out`, or patches,
// which hold every sample patch_frames times. FERRY_INVALID_ARGUMENT: sides that are not multiples of a block of
// patches; mean, std or fill for another number of channels.
Status normalize(const fbs::Preprocess& recipe, const Seen& seen, float* out);

}  // namespace ferry::image
