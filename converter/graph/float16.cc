#include "converter/graph/float16.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace ferry {

uint16_t to_float16(double value) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double size = std::fabs(value);
  if (std::isnan(value)) return 0x7e00;
  if (size >= 65536) return sign | 0x7c00;
  const int exponent = std::max(std::ilogb(size), -14);                                  // below: subnormal or zero
  const auto steps = static_cast<int>(std::nearbyint(std::ldexp(size, 10 - exponent)));  // 1024 to 2048 if normal
  return static_cast<uint16_t>(sign | (((exponent + 14) << 10) + steps));
}

uint16_t to_bfloat16(double value) {
  if (std::isnan(value)) return 0x7fc0;
  const uint32_t bits = std::bit_cast<uint32_t>(static_cast<float>(value));
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

}  // namespace ferry
