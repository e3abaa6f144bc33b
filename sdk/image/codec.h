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

// FERRY_INVALID_ARGUMENT: save() writes no file of that suffix; the message says which it writes.
Status check_suffix(const char* path);

// Like save_png(), but refuses other suffixes as check_suffix() does.
Status save(const View& image, const char* path, bool sixteen_bits = false);

// Writes a PNG of RGB, RGBA or grey, whatever the suffix. `sixteen_bits`: grey, two bytes per pixel, big-endian. The
// file is replaced whole (sdk/files/new_file.h). FERRY_IO_ERROR names the path.
Status save_png(const View& image, const char* path, bool sixteen_bits = false);

}  // namespace ferry::image
