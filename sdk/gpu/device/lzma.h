// Decompresses raw LZMA streams (as xz and 7-Zip write them, without a header).
#pragma once

#include <cstddef>
#include <cstdint>

namespace ferry::gpu {

// Writes exactly `bytes` bytes. The stream must be our own, with lc = 0, lp = 2, pb = 2 (contexts repeat every four
// bytes); it is not validated.
void unpack_lzma(const uint8_t* packed, uint8_t* out, size_t bytes);

}  // namespace ferry::gpu
