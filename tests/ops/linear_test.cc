#include "sdk/cpu/gemm/plan.h"
#include "tests/ops/harness.h"

namespace ferry::testing {
namespace {

constexpr double kLinearBound = 2e-6;

TEST(Linear, MatchesTheOracle) {
  for (const int rows : {1, 2, 7, 30})
    for (const int inputs : {1, 5, 64, 257})
      for (const int outputs : {1, 10, 33}) {
        SCOPED_TRACE(::testing::Message() << rows << " rows, " << inputs << " to " << outputs);
        expect_like_oracle(fbs::LinearT(), {input({rows, inputs}), constant({outputs, inputs}), constant({outputs})},
                           kLinearBound);
      }
}

TEST(Linear, MatchesTheOracleForAClassifier) {
  expect_like_oracle(fbs::LinearT(), {input({1, 2048}), constant({1000, 2048}, -0.05, 0.05), constant({1000})},
                     kLinearBound);
}

cpu::GemmPlan plan_of(size_t rows, size_t inputs, size_t outputs, size_t tasks) {
  const size_t depth = std::min<size_t>(inputs, 352), together = std::max<size_t>(384 / depth, 1);
  return cpu::plan_gemm({1, rows, inputs, outputs, 16, depth, together, 4, 512 << 10, tasks});
}

TEST(GemmPlan, WeightsThatExceedTheCacheAreReadOnce) {
  const cpu::GemmPlan few = plan_of(49, 2048, 512, 1);
  EXPECT_TRUE(few.streams);
  EXPECT_GE(few.rows, 49u);
  EXPECT_EQ(few.panels, 32u);
  EXPECT_LT(plan_of(784, 1024, 512, 1).rows, 300u) << "more inputs than the cache holds";
}

TEST(GemmPlan, RowsStayInTheCacheWithWeightsThatFit) {
  const cpu::GemmPlan plan = plan_of(3136, 256, 64, 1);
  EXPECT_FALSE(plan.streams);
  EXPECT_LT(plan.rows * (256 + 64) * sizeof(float) + 256 * 64 * sizeof(float), 512u << 10);
  EXPECT_GT(plan.rows, 100u);
}

TEST(GemmPlan, ThreadsSplitTheLargerSide) {
  const cpu::GemmPlan few = plan_of(49, 2048, 512, 16), many = plan_of(12544, 64, 64, 16);
  EXPECT_EQ(few.panels, 2u) << "each thread its own weights";
  EXPECT_EQ(many.panels, 4u) << "each thread its own rows";
  EXPECT_EQ(plan_of(3, 8, 8, 16).rows, 4u) << "what is tiny is not cut";
}

TEST(Linear, TakesAnyRank) {
  expect_like_oracle(fbs::LinearT(), {input({12}), constant({7, 12}), constant({7})}, kLinearBound);
  expect_like_oracle(fbs::LinearT(), {input({2, 3, 5, 12}), constant({7, 12})}, kLinearBound);
}

// Large weights run in panels of output channels (sdk/cpu/xnnpack/panels.h): full ones, and a last one of any width.
TEST(Linear, MatchesTheOracleInPanels) {
  for (const int outputs : {257, 384, 400}) {
    SCOPED_TRACE(::testing::Message() << "to " << outputs);
    expect_like_oracle(fbs::LinearT(), {input({33, 520}), constant({outputs, 520}), constant({outputs})}, kLinearBound);
    expect_like_oracle(fbs::LinearT(), {input({2, 16, 520}), constant({outputs, 520})}, kLinearBound);
  }
}

TEST(Linear, AddsUpLongRows) {
  constexpr double kLongBound = 1e-5;  // a hundred times as many products as in other tests, in float32
  expect_like_oracle(fbs::LinearT(), {input({2, 280000}), constant({3, 280000})}, kLongBound);
}

// Most are below 2^-14, where float16 is subnormal. A CPU that flushes subnormals has a normalised mean squared error
// of 0.2 and more.
TEST(Linear, MultipliesByTinyWeights) {
  for (const int rows : {1, 20})
    expect_like_oracle(fbs::LinearT(), {input({rows, 96}), constant({40, 96}, -1e-4, 1e-4)}, kLinearBound);
}

TEST(Linear, ClampsItsOutput) {
  fbs::LinearT p;
  p.output_min = -0.1f;
  p.output_max = 0.5f;
  expect_like_oracle(p, {input({4, 20}), constant({30, 20}), constant({30})}, kLinearBound);
}

TEST(Linear, WidensFloat16Weights) {
  expect_like_oracle(fbs::LinearT(), {input({4, 20}), float16_constant({30, 20}), float16_constant({30})},
                     kLinearBound);
}

TEST(LinearOracle, CountsByHand) {
  const reference::Array y =
      oracle(fbs::LinearT(), {{{2, 2}, {1, 2, 3, 4}}, {{3, 2}, {1, 0, 0, 1, 10, 100}}, {{3}, {0.25, 0.5, 1}}});
  EXPECT_EQ(y.values, (std::vector<double>{1.25, 2.5, 211, 3.25, 4.5, 431}));
}

}  // namespace
}  // namespace ferry::testing
