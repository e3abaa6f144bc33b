// Looks through a JPEG before stb_image gets it.
#pragma once

#include <cstddef>

namespace ferry::image {

// False where a Huffman table claims more than 256 codes: the stb_image of Debian 12 (2.27) writes past its tables
// then. Walks the markers just as stb_image does, so that it sees every table that stb_image would.
bool huffman_tables_fit(const unsigned char* data, size_t size);

}  // namespace ferry::image
