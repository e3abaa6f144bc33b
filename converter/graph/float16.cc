#include "converter/graph/float16.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace ferry {
namespace {

// The loops over arrays have no branches, so that the compiler vectorises them.
template <typename From, typename To, typename Convert>
void each(const void* from, void* to, size_t count, const Convert& convert) {
  const auto* source = static_cast<const std::byte*>(from);
  auto* target = static_cast<std::byte*>(to);
  for (size_t i = 0; i < count; ++i) {
    From value;
    std::memcpy(&value, source + i * sizeof value, sizeof value);
    const To converted = convert(value);
    std::memcpy(target + i * sizeof converted, &converted, sizeof converted);
  }
}

// Sizes are signed, because SSE2 compares only signed integers.
uint16_t float16_of(uint32_t bits) {
  constexpr int32_t kInfinity = 0x7f800000, kOverflow = 0x47800000, kMinNormal = 0x38800000;  // 2^16, 2^-14
  const auto size = static_cast<int32_t>(bits & 0x7fffffff);
  // The sum's last bit is 2^-24, that of subnormals.
  const int32_t subnormal = std::bit_cast<int32_t>(std::bit_cast<float>(size) + 0.5f) - std::bit_cast<int32_t>(0.5f);
  const int32_t normal = static_cast<int32_t>(((bits & 0x7fffffff) + 0xfff + (bits >> 13 & 1)) >> 13) - (112 << 10);
  int32_t narrow = size < kMinNormal ? subnormal : normal;
  narrow = size >= kOverflow ? 0x7c00 : narrow;
  narrow = size > kInfinity ? 0x7e00 : narrow | static_cast<int32_t>(bits >> 16 & 0x8000);
  return static_cast<uint16_t>(narrow);
}

uint16_t bfloat16_of(uint32_t bits) {
  const uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  return static_cast<uint16_t>(static_cast<int32_t>(bits & 0x7fffffff) > 0x7f800000 ? 0x7fc0 : rounded);
}

uint32_t widened_float16(uint16_t bits) {
  const int32_t size = bits & 0x7fff;
  // The factor is the difference of the biases; it makes normal numbers of subnormal ones.
  const auto finite = std::bit_cast<int32_t>(std::bit_cast<float>(size << 13) * 0x1p112f);
  const int32_t magnitude = size >= 0x7c00 ? size << 13 | 0x7f800000 : finite;
  return static_cast<uint32_t>(magnitude) | (bits & 0x8000u) << 16;
}

}  // namespace

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

uint16_t to_bfloat16(double value) { return bfloat16_of(std::bit_cast<uint32_t>(static_cast<float>(value))); }

bool to_float16(std::span<const std::byte> from, std::byte* to) {
  int beyond = 0;
  each<uint32_t, uint16_t>(from.data(), to, from.size() / sizeof(float), [&beyond](uint32_t bits) {
    const uint16_t narrow = float16_of(bits);
    beyond |= (narrow & 0x7fff) >= 0x7c00 ? 1 : 0;
    return narrow;
  });
  return beyond == 0;
}

void to_bfloat16(std::span<const std::byte> from, std::byte* to) {
  each<uint32_t, uint16_t>(from.data(), to, from.size() / sizeof(float), bfloat16_of);
}

void from_float16(const std::byte* from, std::span<float> to) {
  each<uint16_t, uint32_t>(from, to.data(), to.size(), widened_float16);
}

void from_bfloat16(const std::byte* from, std::span<float> to) {
  each<uint16_t, uint32_t>(from, to.data(), to.size(), [](uint16_t bits) { return uint32_t{bits} << 16; });
}

}  // namespace ferry
