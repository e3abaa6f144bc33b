// Unpacks LZMA, as xz and 7-Zip write it; a raw stream without a header.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ferry::gpu {

// Exactly `bytes` bytes, from a stream of our own making by lc = 0, lp = 2, pb = 2: positions count in words of four
// bytes. Nothing in it is checked.
void unpack_lzma(const uint8_t* packed, uint8_t* out, size_t bytes);

}  // namespace ferry::gpu
