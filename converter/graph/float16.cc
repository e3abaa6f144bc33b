#include "converter/graph/float16.h"

#include <bit>
#include <cmath>

namespace ferry {

uint16_t to_float16(double value) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double size = std::fabs(value);
  if (std::isnan(value)) return 0x7e00;
  if (size >= 65536) return sign | 0x7c00;
  if (size < 0x1p-14)
    return static_cast<uint16_t>(sign | static_cast<int>(std::nearbyint(size * 0x1p24)));  // subnormal
  // Drops 42 bits of the significand, rounded to nearest even; a carry goes to the exponent, whose bias shrinks by
  // 1008.
  const auto bits = std::bit_cast<uint64_t>(size);
  const uint64_t rounded = (bits + (uint64_t{1} << 41) - 1 + (bits >> 42 & 1)) >> 42;
  return static_cast<uint16_t>(sign | (rounded - (uint64_t{1008} << 10)));
}

uint16_t to_bfloat16(double value) {
  if (std::isnan(value)) return 0x7fc0;
  const uint32_t bits = std::bit_cast<uint32_t>(static_cast<float>(value));
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

}  // namespace ferry
