// XXH64 (github.com/Cyan4973/xxHash, doc/xxhash_spec.md): a fast checksum against damage, not against malice: files
// with a chosen checksum are easily made.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace ferry {

class Xxh64 {
 public:
  void update(std::span<const std::byte> bytes);
  // Of all bytes so far, with seed 0.
  uint64_t digest() const;

 private:
  static constexpr size_t kStripe = 32;

  std::array<uint64_t, 4> lanes_ = {0x60ea27eeadc0b5d6, 0xc2b2ae3d27d4eb4f, 0, 0x61c8864e7a143579};
  std::array<std::byte, kStripe> rest_{};  // the last bytes, less than a stripe
  uint64_t length_ = 0;
};

inline uint64_t xxh64(std::span<const std::byte> bytes) {
  Xxh64 hash;
  hash.update(bytes);
  return hash.digest();
}

}  // namespace ferry
