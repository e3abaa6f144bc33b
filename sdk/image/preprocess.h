// From an 8-bit picture to a network's input by the blob's recipe: grey, resize, centre crop, then (x / 255 - mean) / std.
#pragma once

#include "ferry_generated.h"
#include "sdk/image/pixels.h"

namespace ferry::image {

// A picture ready to be normalised: the caller's own samples, or `pixels`' where the recipe changed them.
struct Prepared {
  View view;
  Pixels pixels;
};

// The 8-bit half of the recipe, as torchvision and timm do it: ShortestEdge truncates the longer side, a centre crop
// begins at half the difference rounded to the even number (crop_floor: rounded down, as transformers does), and a crop
// larger than the picture pads it with zeros. `picture` is RGB.
Status prepare(const fbs::Preprocess& recipe, const View& picture, Prepared* out);

// The float half: [height, width, channels] channels last into `out`. In the recipe's colour order; `picture` is RGB, or
// grey as prepare() left it.
Status normalize(const fbs::Preprocess& recipe, const View& picture, float* out);

}  // namespace ferry::image
