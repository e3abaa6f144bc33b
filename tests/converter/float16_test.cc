#include "converter/graph/float16.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "sdk/model/elements.h"

namespace ferry {
namespace {

// Every sign and exponent, with mantissas at, below and above each tie of both formats' roundings.
std::vector<float> edges() {
  std::vector<float> out;
  for (uint32_t top = 0; top < 512; ++top) {
    for (const uint32_t upper : {0u, 1u, 2u, 0x1ffu, 0x200u, 0x3feu, 0x3ffu})
      for (const uint32_t lower : {0u, 1u, 0xfffu, 0x1000u, 0x1001u, 0x1fffu})
        out.push_back(std::bit_cast<float>(top << 23 | upper << 13 | lower));
    for (uint32_t bit = 0; bit < 23; ++bit) out.push_back(std::bit_cast<float>(top << 23 | 1u << bit));
  }
  return out;
}

TEST(Float16, ArraysAreRoundedLikeElements) {
  const std::vector<float> values = edges();
  std::vector<std::byte> narrow(values.size() * sizeof(uint16_t) + 1);
  const auto at = [&](size_t i) {
    uint16_t bits;
    std::memcpy(&bits, &narrow[1 + i * sizeof bits], sizeof bits);
    return bits;
  };
  const auto bytes = std::as_bytes(std::span(values));
  EXPECT_FALSE(to_float16(bytes, narrow.data() + 1));
  for (size_t i = 0; i < values.size(); ++i) ASSERT_EQ(at(i), to_float16(static_cast<double>(values[i]))) << values[i];
  to_bfloat16(bytes, narrow.data() + 1);
  for (size_t i = 0; i < values.size(); ++i) ASSERT_EQ(at(i), to_bfloat16(static_cast<double>(values[i]))) << values[i];
}

TEST(Float16, InfinitiesAreReported) {
  std::vector<float> values(1000, 65519);
  std::vector<std::byte> narrow(values.size() * sizeof(uint16_t));
  EXPECT_TRUE(to_float16(std::as_bytes(std::span(values)), narrow.data()));
  for (const float beyond : {65520.0f, -65520.0f, std::nanf(""), INFINITY}) {
    values[617] = beyond;
    EXPECT_FALSE(to_float16(std::as_bytes(std::span(values)), narrow.data())) << beyond;
  }
}

TEST(Float16, ArraysAreWidenedLikeElements) {
  std::vector<uint16_t> all(1 << 16);
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
  std::vector<float> wide(all.size());
  const auto* bytes = reinterpret_cast<const std::byte*>(all.data());
  from_float16(bytes, wide);
  for (const uint16_t bits : all)
    ASSERT_EQ(std::bit_cast<uint32_t>(wide[bits]), std::bit_cast<uint32_t>(from_float16(bits))) << bits;
  from_bfloat16(bytes, wide);
  for (const uint16_t bits : all)
    ASSERT_EQ(std::bit_cast<uint32_t>(wide[bits]), std::bit_cast<uint32_t>(from_bfloat16(bits))) << bits;
}

}  // namespace
}  // namespace ferry
