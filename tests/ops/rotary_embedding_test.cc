#include "tests/ops/harness.h"

namespace ferry::testing {
namespace {

constexpr double kRotaryEmbeddingBound = 3e-7;

fbs::RotaryEmbeddingT rotary(int heads, bool interleaved) {
  fbs::RotaryEmbeddingT p;
  p.heads = heads;
  p.interleaved = interleaved;
  return p;
}

TEST(RotaryEmbedding, MatchesTheOracle) {
  for (const bool interleaved : {false, true})
    for (const int32_t depth : {2, 4, 6, 10, 64}) {
      SCOPED_TRACE(std::to_string(depth) + (interleaved ? " interleaved" : ""));
      for (const int32_t heads : {1, 3})
        expect_like_oracle(rotary(heads, interleaved),
                           {input({3, 5, heads * depth}), constant({5, depth}), constant({5, depth})},
                           kRotaryEmbeddingBound);
    }
  expect_like_oracle(rotary(2, false), {input({1, 1, 12}), constant({1, 6}), constant({1, 6})}, kRotaryEmbeddingBound);
  expect_like_oracle(rotary(2, true), {input({2, 7, 12}), input({7, 6}), input({7, 6})}, kRotaryEmbeddingBound);
}

TEST(RotaryEmbeddingOracle, CountsByHand) {
  const reference::Array x{{1, 1, 4}, {1, 2, 3, 4}}, cos{{1, 4}, {1, 0, 1, 0}}, sin{{1, 4}, {0, 1, 10, 1}};
  EXPECT_EQ(oracle(rotary(1, false), {x, cos, sin}).values, (std::vector<double>{1, -4, 13, 2}));
  EXPECT_EQ(oracle(rotary(1, true), {x, cos, sin}).values, (std::vector<double>{1, 1, -37, 3}));
}

}  // namespace
}  // namespace ferry::testing
