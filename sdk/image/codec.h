// Image files: JPEG, PNG and BMP in, PNG out.
#pragma once

#include <cstddef>

#include "sdk/image/pixels.h"

namespace ferry::image {

// Decodes to RGB: grey is repeated, alpha dropped, 16 bits cut to 8; a JPEG is turned upright by its Exif orientation.
// `name` says in messages where the bytes came from. FERRY_NOT_AN_IMAGE: not a JPEG, PNG or BMP.
// FERRY_IMAGE_DAMAGED. FERRY_IMAGE_TOO_LARGE (pixels.h).
Status decode(const void* data, size_t size, const char* name, Pixels* out);

Status load(const char* path, Pixels* out);

// Written beside `path` and renamed, so that `path` is whole or as it was. FERRY_IO_ERROR names the path.
Status write_file(const void* data, size_t size, const char* path);

// RGB, RGBA or grey. `sixteen_bits`: grey of two samples a pixel, the upper byte first. As write_file().
Status save_png(const View& image, const char* path, bool sixteen_bits = false);

}  // namespace ferry::image
