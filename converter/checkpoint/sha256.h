// Incremental SHA-256.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "sdk/model/sha256.h"

namespace ferry {

class Sha256 {
 public:
  // Uses the CPU's SHA instructions if available, unless `plainly`.
  explicit Sha256(bool plainly = false);

  void update(std::span<const std::byte> bytes);
  // Finishes the message and returns lower-case hexadecimal. Call once.
  std::string hex();

 private:
  void (*blocks_)(Sha256State& state, const std::byte* data, size_t count);  // hashes blocks of 64 bytes
  Sha256State state_ = kSha256Begin;
  std::array<std::byte, 64> pending_{};
  uint64_t length_ = 0;  // bytes so far
};

std::string sha256_hex(std::span<const std::byte> bytes);

}  // namespace ferry
