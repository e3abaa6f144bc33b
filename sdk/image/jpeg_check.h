// Checks a JPEG before stb_image decodes it.
#pragma once

#include <cstddef>

namespace ferry::image {

// The reason to refuse the file; null if there is none.
// - A Huffman table with more than 256 codes: stb_image 2.27 (Debian 12) writes past its tables.
// - More than 100 scans: each pass covers the whole image for a few bytes of file; encoders write about ten.
// Markers are parsed exactly as by stb_image, so that everything it would decode is checked.
const char* fault_of_jpeg(const unsigned char* data, size_t size);

}  // namespace ferry::image
