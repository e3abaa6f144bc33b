// Operators at the widths of published language models, up to 14,336 (Llama 3's MLP).
#include <cmath>

#include "tests/ops/harness.h"

namespace ferry::testing {
namespace {

constexpr int kWidths[] = {2048, 5120, 14336};
constexpr double kRounding = 0x1p-24;  // of float32

// What rounding costs in a sum of `count` products of operands in [-1, 1), three standard deviations of it. A partial
// sum is a random walk with steps of 1/3, so it stays below sqrt(count), and is rounded by at most kRounding times
// that; `count` such roundings have a standard deviation of kRounding * count / sqrt(3). The largest of the sums, which
// the error is divided by, is above 3/4 * sqrt(count).
double bound_of_sum(int count) { return 3 / std::sqrt(3.0) / 0.75 * kRounding * std::sqrt(count); }

TEST(Widths, LinearRoundsLikeARandomWalk) {
  for (const int width : kWidths)
    for (const int rows : {1, 33}) {
      SCOPED_TRACE(::testing::Message() << rows << " rows of " << width);
      for (const fbs::DType type : {fbs::DType::Float32, fbs::DType::Float16})
        expect_like_oracle(fbs::LinearT(), {input({rows, width}), {{48, width}, true, type}}, bound_of_sum(width));
    }
}

// Sums of integers are exact: what rounds is a product with a scale for each row, or for each block of 32. GPUs sum
// floats.
TEST(Widths, QuantizedLinearRoundsOncePerBlock) {
  constexpr int kBlock = 32;
  for (const int width : kWidths)
    for (const int rows : {1, 33}) {
      SCOPED_TRACE(::testing::Message() << rows << " rows of " << width);
      expect_like_oracle(fbs::LinearT(), {input({rows, width}), bytes_constant({48, width})}, 4 * kRounding,
                         bound_of_sum(width));
      expect_like_oracle(fbs::LinearT(), {input({rows, width}), nibbles_constant({48, width})},
                         4 * kRounding + bound_of_sum(width / kBlock), bound_of_sum(width));
    }
}

TEST(Widths, MatmulRoundsLikeARandomWalk) {
  for (const int width : kWidths) {
    SCOPED_TRACE(width);
    expect_like_oracle(fbs::MatMulT(), {input({2, 9, width}), input({2, width, 40})}, bound_of_sum(width));
  }
}

// Weights add up to 1, so only the scores' rounding remains: scores here are up to 12, whose exponential is off by
// 12 * kRounding, and an output is a quarter of the largest value. GPUs add keys one by one, above and below the
// quotient, each sum with sqrt(keys) * kRounding.
TEST(Widths, AttentionRoundsLikeItsScores) {
  constexpr int kDepth = 128;
  fbs::AttentionT p;
  p.heads = 8;
  p.kv_heads = 2;
  p.causal = true;
  p.scale = 2 / std::sqrt(static_cast<float>(kDepth));
  for (const int keys : {1024, 4096}) {
    SCOPED_TRACE(keys);
    expect_like_oracle(
        p, {input({1, 3, 8 * kDepth}, -2, 2), input({1, keys, 2 * kDepth}, -2, 2), input({1, keys, 2 * kDepth})},
        12 * kRounding * 4, kRounding * (12 * 4 + 2 * std::sqrt(keys)));
  }
}

// Each partial sum of squares is rounded relative to itself: together by kRounding * sqrt(width) of the mean, of which
// the root has half. Factor and shift are two more roundings.
TEST(Widths, NormsRoundLikeTheirMeans) {
  fbs::LayerNormT rms;
  rms.centered = false;
  for (const int width : kWidths) {
    SCOPED_TRACE(width);
    const double bound = kRounding * (2 + std::sqrt(width) / 2);
    expect_like_oracle(fbs::LayerNormT(), {input({3, width}), constant({width}), constant({width})}, bound);
    expect_like_oracle(rms, {input({3, width}), constant({width}), constant({width})}, bound);
  }
}

}  // namespace
}  // namespace ferry::testing
