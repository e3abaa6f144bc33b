#include "tests/ops/harness.h"

namespace ferry::testing {
namespace {

constexpr double kNormBound = 3e-6;  // of values up to 6 standard deviations

std::vector<Operand> norm_operands(Shape x, double low = -1, double high = 1) {
  const int32_t channels = x[x.rank - 1];
  return {input(x, low, high), constant({channels}), constant({channels})};
}

fbs::GroupNormT group_norm(int groups, float epsilon = 1e-5f) {
  fbs::GroupNormT p;
  p.groups = groups;
  p.epsilon = epsilon;
  return p;
}

TEST(LayerNorm, MatchesTheOracle) {
  for (const int channels : {2, 3, 4, 13, 96, 257, 768, 1030}) {
    SCOPED_TRACE(channels);
    expect_like_oracle(fbs::LayerNormT(), norm_operands({3, 5, channels}), kNormBound);
  }
  expect_like_oracle(fbs::LayerNormT(), norm_operands({3, 7, 9, 40}), kNormBound);
  expect_like_oracle(fbs::LayerNormT(), norm_operands({1, 1, 6}), kNormBound);
  expect_like_oracle(fbs::LayerNormT(), norm_operands({23}), kNormBound);
  expect_like_oracle(fbs::LayerNormT(), norm_operands({2, 5000}), kNormBound);
}

// A mean of a hundred standard deviations loses only the digits that float32 cannot hold.
TEST(LayerNorm, KeepsItsDigitsFarFromZero) {
  expect_like_oracle(fbs::LayerNormT(), norm_operands({2, 9, 60}, 99, 101), 3e-5);
}

// The epsilon is under the root, and dominates it here.
TEST(LayerNorm, TakesItsEpsilon) {
  fbs::LayerNormT p;
  p.epsilon = 0.5f;
  expect_like_oracle(p, norm_operands({2, 9, 12}), kNormBound);
}

TEST(RmsNorm, MatchesTheOracle) {
  fbs::LayerNormT p;
  p.centered = false;
  for (const int channels : {1, 2, 3, 4, 13, 96, 257, 768, 1030}) {
    SCOPED_TRACE(channels);
    expect_like_oracle(p, norm_operands({3, 5, channels}), kNormBound);
  }
  expect_like_oracle(p, norm_operands({3, 7, 9, 40}), kNormBound);
  expect_like_oracle(p, norm_operands({23}), kNormBound);
  expect_like_oracle(p, norm_operands({2, 5000}), kNormBound);
  expect_like_oracle(p, norm_operands({2, 9, 60}, 99, 101), kNormBound);
  p.epsilon = 0.5f;
  expect_like_oracle(p, norm_operands({2, 9, 12}), kNormBound);
}

TEST(GroupNorm, MatchesTheOracle) {
  for (const int groups : {1, 2, 3, 6}) {  // groups of 18, 9, 6 and 3 channels: some share quads
    SCOPED_TRACE(groups);
    expect_like_oracle(group_norm(groups), norm_operands({3, 5, 7, 18}), kNormBound);
    expect_like_oracle(group_norm(groups), norm_operands({2, 11, 18}), kNormBound);
  }
  expect_like_oracle(group_norm(32), norm_operands({2, 14, 15, 64}), kNormBound);
  expect_like_oracle(group_norm(32), norm_operands({1, 9, 8, 256}), kNormBound);
  expect_like_oracle(group_norm(5), norm_operands({3, 1, 1, 15}), kNormBound);
  expect_like_oracle(group_norm(4, 0.25f), norm_operands({2, 60, 61, 8}), kNormBound);
}

// Like a layer norm.
TEST(GroupNorm, KeepsItsDigitsFarFromZero) {
  for (const int places : {7, 60}) {
    SCOPED_TRACE(places);
    expect_like_oracle(group_norm(32), norm_operands({2, places, places, 64}, 99, 101), 3e-5);
  }
}

TEST(Grn, MatchesTheOracle) {
  for (const int channels : {1, 3, 16, 30, 384}) {
    SCOPED_TRACE(channels);
    expect_like_oracle(fbs::GrnT(), norm_operands({3, 7, 6, channels}), kNormBound);
  }
  expect_like_oracle(fbs::GrnT(), norm_operands({2, 1, 1, 7}), kNormBound);
  expect_like_oracle(fbs::GrnT(), norm_operands({1, 56, 57, 9}), kNormBound);
}

TEST(NormOracle, CountsByHand) {
  const reference::Array weight{{2}, {1, 2}}, bias{{2}, {0, 1}};
  fbs::LayerNormT layer;
  layer.epsilon = 0;
  EXPECT_EQ(oracle(layer, {{{1, 2}, {3, 5}}, weight, bias}).values, (std::vector<double>{-1, 3}));
  EXPECT_EQ(oracle(group_norm(2, 0), {{{1, 2, 2}, {3, 7, 5, 1}}, weight, bias}).values,
            (std::vector<double>{-1, 3, 1, -1}));
  layer.centered = false;  // a mean square of 25
  EXPECT_EQ(oracle(layer, {{{1, 2}, {1, 7}}, weight, bias}).values, (std::vector<double>{0.2, 3.8}));
  fbs::GrnT grn;
  grn.epsilon = 0;  // lengths 5 and 15, mean 10
  EXPECT_EQ(oracle(grn, {{{1, 1, 2, 2}, {3, 9, 4, 12}}, weight, bias}).values, (std::vector<double>{4.5, 37, 6, 49}));
}

}  // namespace
}  // namespace ferry::testing
