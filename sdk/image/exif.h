// Exif orientation of JPEG and PNG files.
#pragma once

#include <cstddef>

#include "sdk/image/pixels.h"

namespace ferry::image {

// The Exif orientation, 1 to 8; 1 (upright) if absent or invalid. `data` is a JPEG or PNG file.
int exif_orientation(const unsigned char* data, size_t size);

// Rotates and mirrors an image with this orientation until it is upright.
Status make_upright(int orientation, Pixels* image);

}  // namespace ferry::image
