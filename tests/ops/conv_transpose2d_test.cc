#include <gtest/gtest-spi.h>

#include <algorithm>

#include "tests/ops/harness.h"

namespace ferry::testing {
namespace {

// Like conv2d's: float32 sums in XNNPACK's order against float64.
constexpr double kConvTranspose2dBound = 2e-6;

fbs::ConvTranspose2dT up(int stride = 1, int pad = 0, int output_padding = 0, int groups = 1, int dilation = 1) {
  fbs::ConvTranspose2dT p;
  p.stride_h = p.stride_w = stride;
  p.pad_top = p.pad_left = p.pad_bottom = p.pad_right = pad;
  p.output_padding_h = p.output_padding_w = output_padding;
  p.groups = groups;
  p.dilation_h = p.dilation_w = dilation;
  return p;
}

TEST(ConvTranspose2d, MatchesTheOracleForEveryKernelAndStride) {
  // XNNPACK has different code paths for strides above, at and below the kernel's size.
  for (const int kernel : {1, 2, 3, 4, 5})
    for (const int stride : {1, 2, 3, 4}) {
      SCOPED_TRACE(::testing::Message() << "kernel " << kernel << ", stride " << stride);
      expect_like_oracle(up(stride), {input({1, 5, 7, 6}), constant({10, kernel, kernel, 6}), constant({10})},
                         kConvTranspose2dBound);
    }
}

TEST(ConvTranspose2d, MatchesTheOracleForOddChannels) {
  for (const int channels : {1, 3, 17})
    for (const int outputs : {1, 5, 33}) {
      SCOPED_TRACE(::testing::Message() << channels << " to " << outputs << " channels");
      expect_like_oracle(up(2, 1),
                         {input({1, 5, 4, channels}), constant({outputs, 3, 3, channels}), constant({outputs})},
                         kConvTranspose2dBound);
    }
}

TEST(ConvTranspose2d, CropsByItsPaddingAndAddsOutputPadding) {
  for (const int kernel : {2, 3, 4})
    for (const int stride : {2, 3})
      for (int pad = 0; pad < kernel; ++pad)
        for (int extra = 0; extra < stride; ++extra) {
          SCOPED_TRACE(::testing::Message() << "kernel " << kernel << ", stride " << stride << ", padding " << pad
                                            << ", output padding " << extra);
          expect_like_oracle(up(stride, pad, extra),
                             {input({1, 4, 5, 4}), constant({6, kernel, kernel, 4}), constant({6})},
                             kConvTranspose2dBound);
        }
}

TEST(ConvTranspose2d, CropsEachSideByItself) {
  fbs::ConvTranspose2dT p = up(2);
  p.pad_top = 0;
  p.pad_left = 1;
  p.pad_bottom = 2;
  p.pad_right = 3;
  p.output_padding_w = 1;
  expect_like_oracle(p, {input({1, 6, 7, 3}), constant({8, 3, 3, 3}), constant({8})}, kConvTranspose2dBound);
  p.stride_h = 3;
  expect_like_oracle(p, {input({1, 6, 7, 3}), constant({8, 4, 3, 3}), constant({8})}, kConvTranspose2dBound);
}

TEST(ConvTranspose2d, AllowsPaddingWiderThanTheKernel) {
  expect_like_oracle(up(1, 4), {input({1, 9, 9, 2}), constant({3, 3, 3, 2}), constant({3})}, kConvTranspose2dBound);
  expect_like_oracle(up(2, 5), {input({1, 9, 9, 2}), constant({3, 3, 3, 2}), constant({3})}, kConvTranspose2dBound);
}

TEST(ConvTranspose2d, MatchesTheOracleForRectangularKernelsAndStrides) {
  fbs::ConvTranspose2dT p = up();
  p.stride_h = 2;
  expect_like_oracle(p, {input({1, 5, 6, 4}), constant({6, 1, 5, 4}), constant({6})}, kConvTranspose2dBound);
  p.stride_w = 3;
  expect_like_oracle(p, {input({1, 5, 6, 4}), constant({6, 4, 3, 4}), constant({6})}, kConvTranspose2dBound);
}

TEST(ConvTranspose2d, MatchesTheOracleWithDilation) {
  expect_like_oracle(up(1, 2, 0, 1, 2), {input({1, 6, 5, 5}), constant({7, 3, 3, 5}), constant({7})},
                     kConvTranspose2dBound);
  expect_like_oracle(up(2, 1, 1, 1, 3), {input({1, 6, 5, 5}), constant({7, 2, 3, 5}), constant({7})},
                     kConvTranspose2dBound);
}

TEST(ConvTranspose2d, MatchesTheOracleWithGroups) {
  expect_like_oracle(up(2, 1, 1, 4), {input({1, 4, 5, 12}), constant({20, 3, 3, 3}), constant({20})},
                     kConvTranspose2dBound);
  expect_like_oracle(up(2, 0, 0, 3), {input({2, 5, 5, 9}), constant({6, 2, 2, 3}), constant({6})},
                     kConvTranspose2dBound);
  expect_like_oracle(up(2, 1, 0, 24), {input({1, 5, 5, 24}), constant({24, 4, 4, 1}), constant({24})},
                     kConvTranspose2dBound);
  expect_like_oracle(up(1, 1, 0, 7), {input({1, 5, 6, 7}), constant({14, 3, 3, 1}), constant({14})},
                     kConvTranspose2dBound);
}

TEST(ConvTranspose2d, MatchesTheOracleOnOnePixel) {
  expect_like_oracle(up(), {input({1, 1, 1, 100}), constant({37, 1, 1, 100}), constant({37})}, kConvTranspose2dBound);
  expect_like_oracle(up(), {input({1, 1, 1, 100}), constant({12, 4, 4, 100}), constant({12})}, kConvTranspose2dBound);
  expect_like_oracle(up(2), {input({1, 1, 1, 16}), constant({9, 2, 2, 16}), constant({9})}, kConvTranspose2dBound);
  expect_like_oracle(up(2, 1), {input({1, 1, 1, 16}), constant({9, 3, 3, 16}), constant({9})}, kConvTranspose2dBound);
}

TEST(ConvTranspose2d, MatchesTheOracleForALongSum) {
  expect_like_oracle(up(2, 1), {input({1, 4, 4, 512}), constant({16, 4, 4, 512}), constant({16})},
                     kConvTranspose2dBound);
}

// On some CPUs a matrix product with 24 of these 54 rows at a time.
TEST(ConvTranspose2d, LaysOutWindowsThatDoNotOverlap) {
  fbs::ConvTranspose2dT p = up(2);
  expect_like_oracle(p, {input({3, 18, 21, 24}), constant({32, 2, 2, 24}), constant({32})}, kConvTranspose2dBound);
  expect_like_oracle(p, {input({1, 18, 21, 7}), float16_constant({5, 2, 2, 7})}, kConvTranspose2dBound);
  p.stride_w = 3;
  p.output_max = 0.25f;
  const std::vector<float> y =
      expect_like_oracle(p, {input({1, 9, 8, 16}), constant({19, 2, 3, 16}), constant({19})}, kConvTranspose2dBound);
  EXPECT_GT(std::count(y.begin(), y.end(), 0.25f), 0);
}

TEST(ConvTranspose2d, WorksWithoutBias) {
  expect_like_oracle(up(2, 1), {input({1, 6, 6, 4}), constant({8, 3, 3, 4})}, kConvTranspose2dBound);
  expect_like_oracle(up(3), {input({1, 6, 6, 4}), constant({8, 2, 2, 4})}, kConvTranspose2dBound);
}

TEST(ConvTranspose2d, ClampsItsOutput) {
  fbs::ConvTranspose2dT p = up(2, 1);
  p.output_min = 0;
  p.output_max = 1;
  const std::vector<float> y =
      expect_like_oracle(p, {input({1, 8, 8, 16}), constant({16, 3, 3, 16}), constant({16})}, kConvTranspose2dBound);
  EXPECT_GT(std::count(y.begin(), y.end(), 0.0f), 0);
  EXPECT_GT(std::count(y.begin(), y.end(), 1.0f), 0);
}

TEST(ConvTranspose2d, WidensFloat16Weights) {
  expect_like_oracle(up(2, 1), {input({1, 6, 5, 7}), float16_constant({9, 3, 3, 7}), float16_constant({9})},
                     kConvTranspose2dBound);
}

TEST(ConvTranspose2d, KeepsBatchesApart) {
  expect_like_oracle(up(2, 1, 1), {input({3, 5, 6, 8}), constant({12, 3, 3, 8}), constant({12})},
                     kConvTranspose2dBound);
  expect_like_oracle(up(), {input({3, 5, 6, 8}), constant({12, 1, 1, 8}), constant({12})}, kConvTranspose2dBound);
  expect_like_oracle(up(2), {input({3, 5, 6, 8}), constant({12, 2, 2, 8}), constant({12})}, kConvTranspose2dBound);
}

// XNNPACK would write beyond the output.
TEST(ConvTranspose2d, RefusesAnOutputFarBelowTheStride) {
  EXPECT_NONFATAL_FAILURE(
      expect_like_oracle(up(4, 1), {input({1, 1, 1, 2}), constant({2, 4, 4, 2}), constant({2})}, kConvTranspose2dBound),
      "an output of 2x2 is too small for strides of 4x4");
}

// By hand: a 2x2 kernel of 1, 2, 3, 4 and a stride of 1 over the image 1, 2, cropped by one column on the right.
TEST(ConvTranspose2dOracle, CountsByHand) {
  fbs::ConvTranspose2dT p = up();
  const std::vector<reference::Array> inputs = {{{1, 1, 2, 1}, {1, 2}}, {{1, 2, 2, 1}, {1, 2, 3, 4}}, {{1}, {0.5}}};
  reference::Array y = oracle(p, inputs);
  EXPECT_EQ(y.shape, (Shape{1, 2, 3, 1}));
  EXPECT_EQ(y.values, (std::vector<double>{1.5, 4.5, 4.5, 3.5, 10.5, 8.5}));
  p.pad_right = 1;
  y = oracle(p, inputs);
  EXPECT_EQ(y.values, (std::vector<double>{1.5, 4.5, 3.5, 10.5}));
}

// By hand: stride 2 with output padding leaves rows that contain only the bias.
TEST(ConvTranspose2dOracle, LeavesGapsBetweenStrides) {
  fbs::ConvTranspose2dT p = up(2);
  p.output_padding_w = 1;
  const reference::Array y = oracle(p, {{{1, 1, 2, 1}, {1, 2}}, {{1, 1, 1, 1}, {10}}, {{1}, {0.5}}});
  EXPECT_EQ(y.shape, (Shape{1, 1, 4, 1}));
  EXPECT_EQ(y.values, (std::vector<double>{10.5, 0.5, 20.5, 0.5}));
}

// By hand: two groups of two inputs and one output each.
TEST(ConvTranspose2dOracle, KeepsGroupsApart) {
  const reference::Array y =
      oracle(up(1, 0, 0, 2), {{{1, 1, 1, 4}, {1, 2, 3, 4}}, {{2, 1, 1, 2}, {10, 100, 1000, 10000}}});
  EXPECT_EQ(y.values, (std::vector<double>{210, 43000}));
}

}  // namespace
}  // namespace ferry::testing
