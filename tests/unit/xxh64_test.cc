// XXH64 against values of the reference implementation.
#include "sdk/model/xxh64.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <vector>

namespace ferry {
namespace {

// The bytes of xxHash's own sanity check, and what libxxhash 0.8.1 makes of their first `size`.
TEST(Xxh64, IsThatOfTheReferenceImplementation) {
  std::vector<std::byte> bytes;
  for (uint64_t i = 0, generator = 2654435761u; i < 300; ++i, generator *= 11400714785074694797u)
    bytes.push_back(static_cast<std::byte>(generator >> 56));
  const struct {
    size_t size;
    uint64_t hash;
  } kCases[] = {
      {0, 0xef46db3751d8e999},   {1, 0xe934a84adb052768},   {4, 0x9136a0dca57457ee},  {14, 0x8282dcc4994e35c8},
      {32, 0x18b216492bb44b70},  {33, 0x55c8dc3e578f5b59},  {63, 0xa9efbe0fa0f3f4e7}, {64, 0xef558f8acac2b5cd},
      {222, 0xb641ae8cb691c174}, {300, 0x27d0e073ec12824f},
  };
  for (const auto& c : kCases) {
    const std::span<const std::byte> part = std::span(bytes).first(c.size);
    EXPECT_EQ(xxh64(part), c.hash) << c.size;
    for (size_t cut = 0; cut <= c.size; cut += 7) {  // in two pieces
      Xxh64 hash;
      hash.update(part.first(cut));
      hash.update(part.subspan(cut));
      EXPECT_EQ(hash.digest(), c.hash) << c.size << " cut at " << cut;
    }
  }
}

}  // namespace
}  // namespace ferry
