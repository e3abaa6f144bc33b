// Reads JPEG, PNG and BMP files; writes PNG files.
#pragma once

#include <cstddef>

#include "sdk/image/pixels.h"

namespace ferry::image {

// Decodes to RGB: grey is repeated, alpha is dropped, 16 bits are cut to 8, and Exif orientation is applied.
// `name` is the source in error messages. FERRY_NOT_AN_IMAGE: not a JPEG, PNG or BMP.
// FERRY_IMAGE_DAMAGED. FERRY_IMAGE_TOO_LARGE (pixels.h).
Status decode(const void* data, size_t size, const char* name, Pixels* out);

Status load(const char* path, Pixels* out);

// Writes beside `path` and renames, so that `path` is either complete or unchanged. FERRY_IO_ERROR names the path.
Status write_file(const void* data, size_t size, const char* path);

// Writes RGB, RGBA or grey. `sixteen_bits`: grey, two bytes per pixel, big-endian. Errors as in write_file().
Status save_png(const View& image, const char* path, bool sixteen_bits = false);

}  // namespace ferry::image
