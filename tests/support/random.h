// Seeded random numbers that are the same on every machine.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ferry::testing {

// xorshift64*
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15u + 1) {}
  size_t below(size_t n) {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return static_cast<size_t>((state_ * 0x2545F4914F6CDD1Du) >> 33) % n;
  }
  bool once_in(size_t n) { return below(n) == 0; }

 private:
  uint64_t state_;
};

}  // namespace ferry::testing
