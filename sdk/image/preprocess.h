// From an 8-bit image to a network's input by the blob's recipe: grey, resize, crop or pad, then (x / 255 - mean) /
// std.
#pragma once

#include "ferry_generated.h"
#include "sdk/image/pixels.h"

namespace ferry::image {

// What a network sees of an image: `view` at (top, left) of height x width pixels, and the recipe's fill around it.
struct Seen {
  View view;
  int height = 0, width = 0;
  int top = 0, left = 0;
};

// Where the network sees a place of the image. Both are counted in pixels from the top left edge, so that the first
// pixel's centre is 0.5: seen = place * scale + shift.
struct Geometry {
  double scale_x = 1, scale_y = 1;
  double shift_x = 0, shift_y = 0;
};

// One axis of a crop: `count` pixels from `begin`, put at `offset` of the result.
struct Span {
  int begin = 0;
  int count = 0;
  int offset = 0;
};

// What a recipe does to an image before its levels become numbers: resized to width x height, of which the network
// sees these columns and rows in seen_width x seen_height pixels.
struct Plan {
  int width = 0, height = 0;
  Span columns, rows;
  int seen_width = 0, seen_height = 0;
  Geometry geometry;
};

// An image ready to be normalised: the caller's own samples, or `pixels`' where the recipe changed them.
struct Prepared : Seen {
  Pixels pixels;
  Geometry geometry;
};

// What an image of width x height pixels is resized to, before crop or padding. FERRY_INVALID_ARGUMENT: its
// proportions give a side of less than 1 or more than kMaxSide.
Status resized(const fbs::Preprocess& recipe, int width, int height, int* new_width, int* new_height);

// The same with crop and padding.
Status plan(const fbs::Preprocess& recipe, int width, int height, Plan* out);

// ITU-R 601-2 luma in 16-bit fixed point, as Pillow's convert("L").
inline uint8_t luma(int red, int green, int blue) {
  return static_cast<uint8_t>((red * 19595 + green * 38470 + blue * 7471 + 0x8000) >> 16);
}

// The 8-bit half of the recipe, as torchvision, timm and transformers do it (ferry.fbs says how sides are rounded). A
// centre crop begins at half the difference rounded to the even number; crop_floor: rounded down. `image` is RGB.
// FERRY_INVALID_ARGUMENT: its proportions give a side of less than 1 or more than kMaxSide.
Status prepare(const fbs::Preprocess& recipe, const View& image, Prepared* out);

// The float half, in the recipe's colour order: [height, width, channels] channels last into `out`, or the recipe's
// patches, which hold every sample patch_frames times. FERRY_INVALID_ARGUMENT: sides that are no multiples of a block
// of patches; means, deviations or fills for another number of channels.
Status normalize(const fbs::Preprocess& recipe, const Seen& seen, float* out);

}  // namespace ferry::image
