// Reads JPEG, PNG and BMP files; writes PNG and JPEG files.
#pragma once

#include <cstddef>

#include "sdk/image/pixels.h"

namespace ferry::image {

// Decodes to RGB: grey is repeated, alpha is dropped, 16 bits are cut to 8, and Exif orientation is applied.
// `name` is the source in error messages. FERRY_NOT_AN_IMAGE: not a JPEG, PNG or BMP.
// FERRY_IMAGE_DAMAGED. FERRY_IMAGE_TOO_LARGE (pixels.h).
Status decode(const void* data, size_t size, const char* name, Pixels* out);

Status load(const char* path, Pixels* out);

// Named .jpg or .jpeg, in any case.
bool is_jpeg(const char* path);
// FERRY_INVALID_ARGUMENT: save() writes no file of that suffix; the message says which it writes.
Status check_suffix(const char* path);

// By the suffix: .jpg and .jpeg are JPEG, .png and none are PNG; others are refused as by check_suffix(). Errors as in
// save_png(), and FERRY_INVALID_ARGUMENT for what a JPEG does not keep: alpha, 16 bits.
Status save(const View& image, const char* path, bool sixteen_bits = false);

// Writes a PNG of RGB, RGBA or grey, whatever the suffix. `sixteen_bits`: grey, two bytes per pixel, big-endian. The
// file is replaced whole (sdk/files/new_file.h). FERRY_IO_ERROR names the path.
Status save_png(const View& image, const char* path, bool sixteen_bits = false);
// Writes a JPEG of RGB or grey.
Status save_jpeg(const View& image, const char* path);

}  // namespace ferry::image
