// SHA-256 (FIPS 180-4). Our own, because the parity tool checks fixtures on devices that have no cryptography library.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace ferry {

class Sha256 {
 public:
  // With the CPU's instructions for it, where it has them. `plainly`: without.
  explicit Sha256(bool plainly = false);

  void update(std::span<const std::byte> bytes);
  // Ends the message; lower-case hexadecimal. Call once.
  std::string hex();

 private:
  using State = std::array<uint32_t, 8>;

  void (*blocks_)(State& state, const std::byte* data, size_t count);  // takes in blocks of 64 bytes
  State state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::byte, 64> pending_{};
  uint64_t length_ = 0;  // bytes so far
};

std::string sha256_hex(std::span<const std::byte> bytes);

}  // namespace ferry
