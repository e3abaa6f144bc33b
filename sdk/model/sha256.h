// SHA-256 (FIPS 180-4). Implemented here, because devices may have no cryptography library.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace ferry {

using Sha256State = std::array<uint32_t, 8>;
inline constexpr Sha256State kSha256Begin = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                             0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
extern const std::array<uint32_t, 64> kSha256Rounds;

// Adds blocks of 64 bytes.
void take_sha256_blocks(Sha256State& state, const std::byte* data, size_t count);
// Hash of the whole message: words whose hexadecimal digits are concatenated.
Sha256State sha256_of(std::span<const std::byte> bytes);

}  // namespace ferry
