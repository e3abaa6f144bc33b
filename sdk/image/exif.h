// How a JPEG's camera was held.
#pragma once

#include <cstddef>

#include "sdk/image/pixels.h"

namespace ferry::image {

// The Exif orientation, 1 to 8; 1 (upright) where a JPEG has none that makes sense.
int exif_orientation(const unsigned char* data, size_t size);

// Turns and mirrors an image that was stored in this orientation until it is upright.
Status make_upright(int orientation, Pixels* image);

}  // namespace ferry::image
