#include "tests/ops/harness.h"

namespace ferry::testing {
namespace {

// A mean of at most 49 float32 values against float64.
constexpr double kMeanBound = 5e-7;

fbs::Pool2dT pool(fbs::PoolKind kind, int kernel, int stride, int pad = 0) {
  fbs::Pool2dT p;
  p.kind = kind;
  p.kernel_h = p.kernel_w = kernel;
  p.stride_h = p.stride_w = stride;
  p.pad_top = p.pad_left = p.pad_bottom = p.pad_right = pad;
  return p;
}

TEST(Pool2d, GivesTheOraclesMaximumExactly) {
  for (const int kernel : {1, 2, 3, 5, 7})
    for (const int stride : {1, 2, 3})
      for (const int channels : {1, 3, 16, 37}) {
        SCOPED_TRACE(::testing::Message() << "kernel " << kernel << ", stride " << stride << ", channels " << channels);
        expect_like_oracle(pool(fbs::PoolKind::Max, kernel, stride, kernel / 2), {input({2, 9, 11, channels})}, 0);
      }
}

// Padding must not count as 0.
TEST(Pool2d, TakesTheMaximumOfNegativeValues) {
  expect_like_oracle(pool(fbs::PoolKind::Max, 3, 2, 1), {input({1, 6, 6, 8}, -3, -2)}, 0);
}

TEST(Pool2d, MatchesTheOraclesMean) {
  for (const bool count_include_pad : {false, true})
    for (const bool ceil_mode : {false, true})
      for (const int kernel : {1, 2, 3, 7})
        for (const int stride : {1, 2, 3}) {
          SCOPED_TRACE(::testing::Message() << "kernel " << kernel << ", stride " << stride << ", ceil " << ceil_mode
                                            << ", padding counts " << count_include_pad);
          fbs::Pool2dT p = pool(fbs::PoolKind::Average, kernel, stride, kernel / 2);
          p.count_include_pad = count_include_pad;
          p.ceil_mode = ceil_mode;
          expect_like_oracle(p, {input({2, 8, 13, 19})}, kMeanBound);
        }
}

TEST(Pool2d, PadsEachSideByItself) {
  for (const fbs::PoolKind kind : {fbs::PoolKind::Max, fbs::PoolKind::Average}) {
    fbs::Pool2dT p = pool(kind, 3, 2);
    p.pad_bottom = 1;
    p.pad_right = 2;
    p.kernel_h = 2;
    p.count_include_pad = false;
    expect_like_oracle(p, {input({1, 8, 8, 5})}, kMeanBound);
  }
}

TEST(Pool2d, CoversTheRestInCeilMode) {
  fbs::Pool2dT p = pool(fbs::PoolKind::Max, 3, 2);
  p.ceil_mode = true;  // as in SqueezeNet: 13 -> 6, 12 -> 6 (with ceil_mode off: 5)
  EXPECT_EQ(expect_like_oracle(p, {input({1, 13, 12, 64})}, 0).size(), 6u * 6u * 64u);
}

// The GPU's loops would exceed the iteration limits of some drivers.
TEST(Pool2d, LeavesVeryLargeWindowsToTheCpu) {
  expect_like_oracle(pool(fbs::PoolKind::Max, 280, 1), {input({1, 280, 280, 17})}, 0, {}, true);
  expect_like_oracle(pool(fbs::PoolKind::Max, 240, 1), {input({1, 240, 240, 17})}, 0);
}

TEST(Pool2d, TakesAWholeImage) {
  expect_like_oracle(pool(fbs::PoolKind::Average, 7, 1), {input({3, 7, 7, 100})}, kMeanBound);
  expect_like_oracle(pool(fbs::PoolKind::Max, 1, 1), {input({1, 1, 1, 3})}, 0);
}

// By hand: PyTorch 2.1's AvgPool2d(3, stride=2, padding=1, ceil_mode=True) divides by the cells including padding: 4 at
// the corner would be wrong. The last window of a 4-wide row begins at 3 and contains cell 3 and one cell of padding.
TEST(Pool2dOracle, CountsByHand) {
  fbs::Pool2dT p = pool(fbs::PoolKind::Average, 3, 2, 1);
  p.ceil_mode = true;
  const reference::Array x{{1, 1, 4, 1}, {3, 6, 9, 12}};
  p.kernel_h = 1;
  p.stride_h = 1;
  p.pad_top = p.pad_bottom = 0;
  EXPECT_EQ(oracle(p, {x}).values, (std::vector<double>{3, 9, 6}));
  p.count_include_pad = false;
  EXPECT_EQ(oracle(p, {x}).values, (std::vector<double>{4.5, 9, 12}));
  p.kind = fbs::PoolKind::Max;
  EXPECT_EQ(oracle(p, {x}).values, (std::vector<double>{6, 12, 12}));
  p.ceil_mode = false;
  EXPECT_EQ(oracle(p, {x}).values, (std::vector<double>{6, 12}));
}

}  // namespace
}  // namespace ferry::testing
