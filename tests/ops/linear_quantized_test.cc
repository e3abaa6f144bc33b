// Linears and pointwise convolutions whose weights are integers with scales.
#include "tests/ops/harness.h"

namespace ferry::testing {
namespace {

// Sums of integers are exact, so that float32 rounds only where scales and bias come in.
constexpr double kBound = 2e-6;

TEST(LinearQuantized, MatchesTheOracleWithBytes) {
  for (const int rows : {1, 2, 7, 30, 197})
    for (const int inputs : {1, 5, 64, 257})
      for (const int outputs : {1, 10, 33}) {
        SCOPED_TRACE(::testing::Message() << rows << " rows, " << inputs << " to " << outputs);
        expect_like_oracle(fbs::LinearT(),
                           {input({rows, inputs}), bytes_constant({outputs, inputs}), constant({outputs})}, kBound);
      }
}

TEST(LinearQuantized, MatchesTheOracleWithNibbles) {
  for (const int rows : {1, 2, 7, 30, 197})
    for (const int inputs : {32, 96, 256})
      for (const int outputs : {1, 10, 33}) {
        SCOPED_TRACE(::testing::Message() << rows << " rows, " << inputs << " to " << outputs);
        expect_like_oracle(fbs::LinearT(),
                           {input({rows, inputs}), nibbles_constant({outputs, inputs}), constant({outputs})}, kBound);
      }
}

TEST(LinearQuantized, TakesRowsOfOneSign) {
  for (const bool bytes : {true, false}) {
    const Operand weight = bytes ? bytes_constant({16, 64}) : nibbles_constant({16, 64});
    expect_like_oracle(fbs::LinearT(), {input({9, 64}, 3, 5), weight}, kBound);
    expect_like_oracle(fbs::LinearT(), {input({9, 64}, -5, -3), weight}, kBound);
    expect_like_oracle(fbs::LinearT(), {given({2, 64}, std::vector<double>(128, 0.0)), weight, constant({16})}, kBound);
    expect_like_oracle(fbs::LinearT(), {given({2, 64}, std::vector<double>(128, 7.0)), weight, constant({16})}, kBound);
  }
}

TEST(LinearQuantized, TakesAnyRankAndClamps) {
  fbs::LinearT p;
  p.output_min = -0.1f;
  p.output_max = 0.5f;
  expect_like_oracle(p, {input({2, 3, 5, 64}), bytes_constant({7, 64}), constant({7})}, kBound);
  expect_like_oracle(p, {input({2, 3, 5, 64}), nibbles_constant({7, 64})}, kBound);
}

TEST(Conv2dQuantized, OfSinglePixelsIsALinear) {
  expect_like_oracle(fbs::Conv2dT(), {input({2, 5, 6, 64}), bytes_constant({24, 1, 1, 64}), constant({24})}, kBound);
  expect_like_oracle(fbs::Conv2dT(), {input({2, 5, 6, 64}), nibbles_constant({24, 1, 1, 64}), constant({24})}, kBound);
}

// Ways of storing a weight that have no kernel: the numbers that they stand for are computed with.
TEST(LinearQuantized, WidensWhatHasNoKernel) {
  fbs::Conv2dT same;
  same.pad_top = same.pad_left = same.pad_bottom = same.pad_right = 1;
  expect_like_oracle(same, {input({1, 7, 8, 16}), bytes_constant({24, 3, 3, 16}), constant({24})}, kBound);
  fbs::Conv2dT strided;
  strided.stride_h = strided.stride_w = 2;
  expect_like_oracle(strided, {input({1, 7, 8, 32}), nibbles_constant({24, 1, 1, 32})}, kBound);
}

TEST(LinearQuantizedOracle, RoundsRowsByHand) {
  // Steps of 1/51 from -1 to 4: 0 is the integer -77, 1.5 lies at 76.5 steps, which is a half.
  reference::Array weight{{2, 3}, {1, 0, 0, 0, 1, 1}};
  weight.quantized = weight.rounds_rows = true;
  const reference::Array y = oracle(fbs::LinearT(), {{{1, 3}, {-1, 4, 0.5}}, weight});
  EXPECT_NEAR(y.values[0], -1, 1e-6);
  EXPECT_NEAR(y.values[1], 4 + 26 / 51.0, 1e-6);
}

}  // namespace
}  // namespace ferry::testing
