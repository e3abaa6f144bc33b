// Looks through a JPEG before stb_image gets it.
#pragma once

#include <cstddef>

namespace ferry::image {

// Why stb_image should not have it; null where it may.
// - A Huffman table that claims more than 256 codes: the stb_image of Debian 12 (2.27) writes past its tables then.
// - More than 100 scans, each of which goes over the whole image, for a few bytes of file; encoders write about ten.
// Walks the markers just as stb_image does, so that it sees all that stb_image would.
const char* fault_of_jpeg(const unsigned char* data, size_t size);

}  // namespace ferry::image
