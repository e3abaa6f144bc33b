#include <cmath>

#include "tests/ops/harness.h"

namespace ferry::testing {
namespace {

// float32 sums of up to 4608 products, in XNNPACK's order, against float64.
constexpr double kConv2dBound = 2e-6;

fbs::Conv2dT conv(int stride = 1, int pad = 0, int groups = 1, int dilation = 1) {
  fbs::Conv2dT p;
  p.stride_h = p.stride_w = stride;
  p.pad_top = p.pad_left = p.pad_bottom = p.pad_right = pad;
  p.groups = groups;
  p.dilation_h = p.dilation_w = dilation;
  return p;
}

TEST(Conv2d, MatchesTheOracleForPointwiseKernels) {
  for (const int channels : {1, 3, 8, 17, 64})
    for (const int outputs : {1, 5, 16, 33}) {
      SCOPED_TRACE(::testing::Message() << channels << " to " << outputs << " channels");
      expect_like_oracle(conv(), {input({1, 7, 5, channels}), constant({outputs, 1, 1, channels}), constant({outputs})},
                         kConv2dBound);
    }
}

// More weights than a phone's L2 cache, more inputs than one KC block and more rows than are packed at once.
TEST(Conv2d, MatchesTheOracleInBlocks) {
  expect_like_oracle(conv(), {input({1, 13, 20, 1030}), constant({72, 1, 1, 1030}), constant({72})}, kConv2dBound);
  expect_like_oracle(conv(2, 1), {input({1, 37, 28, 130}), constant({76, 3, 3, 130}), constant({76})}, kConv2dBound);
}

TEST(Conv2d, MatchesTheOracleForStridedPointwiseKernels) {
  expect_like_oracle(conv(2), {input({2, 9, 8, 12}), constant({20, 1, 1, 12}), constant({20})}, kConv2dBound);
}

TEST(Conv2d, MatchesTheOracleForSpatialKernels) {
  for (const int kernel : {2, 3, 5, 7})
    for (const int stride : {1, 2, 3}) {
      SCOPED_TRACE(::testing::Message() << "kernel " << kernel << ", stride " << stride);
      expect_like_oracle(conv(stride, kernel / 2),
                         {input({1, 13, 11, 6}), constant({10, kernel, kernel, 6}), constant({10})}, kConv2dBound);
    }
}

// On x86, kernel rows of wide images are read in place, except for windows beyond the ends of a row.
TEST(Conv2d, MatchesTheOracleForStems) {
  for (const int kernel : {3, 7})
    for (const int width : {2, 9, 34, 105})
      for (const int outputs : {8, 20, 40}) {
        SCOPED_TRACE(::testing::Message() << "kernel " << kernel << ", width " << width << ", outputs " << outputs);
        const Operand weight = constant({outputs, kernel, kernel, 3});
        fbs::Conv2dT p = conv(2, kernel / 2);
        expect_like_oracle(p, {input({2, 15, width, 3}), weight, constant({outputs})}, kConv2dBound);
        p.pad_top = kernel + 2;  // whole rows of the output read only padding
        p.pad_left = kernel - 1;
        p.pad_right = kernel + 1;
        p.dilation_h = 2;
        p.output_max = 0.5f;
        expect_like_oracle(p, {input({2, 15, width, 3}), weight, constant({outputs})}, kConv2dBound);
      }
}

TEST(Conv2d, MatchesTheOracleForRectangularKernelsAndStrides) {
  fbs::Conv2dT p = conv();
  p.stride_h = 2;
  p.stride_w = 1;
  p.pad_left = p.pad_right = 2;
  expect_like_oracle(p, {input({1, 9, 9, 4}), constant({6, 1, 5, 4}), constant({6})}, kConv2dBound);
  p.dilation_h = 2;
  p.dilation_w = 3;
  expect_like_oracle(p, {input({1, 12, 14, 4}), constant({6, 3, 2, 4}), constant({6})}, kConv2dBound);
}

// As in segmentation heads: parts of the kernel are outside of the image for some pixels, or for all.
TEST(Conv2d, MatchesTheOracleForDilatedKernels) {
  for (const int dilation : {2, 3, 6, 11, 12, 30})
    for (const int batch : {1, 2}) {
      SCOPED_TRACE(::testing::Message() << "dilation " << dilation << ", batch " << batch);
      expect_like_oracle(conv(1, dilation, 1, dilation),
                         {input({batch, 12, 9, 20}), constant({40, 3, 3, 20}), constant({40})}, kConv2dBound);
    }
  fbs::Conv2dT p = conv(2, 4, 1, 4);
  p.pad_top = 0;
  p.dilation_w = 1;
  expect_like_oracle(p, {input({1, 17, 16, 8}), constant({16, 3, 3, 8}), constant({16})}, kConv2dBound);
}

TEST(Conv2d, PadsEachSideByItself) {
  fbs::Conv2dT p = conv(2);
  p.pad_top = 0;
  p.pad_left = 1;
  p.pad_bottom = 1;
  p.pad_right = 2;
  expect_like_oracle(p, {input({1, 8, 8, 3}), constant({8, 3, 3, 3}), constant({8})}, kConv2dBound);
}

TEST(Conv2d, AllowsPaddingWiderThanTheKernel) {
  expect_like_oracle(conv(1, 4), {input({1, 3, 3, 2}), constant({3, 3, 3, 2}), constant({3})}, kConv2dBound);
}

TEST(Conv2d, MatchesTheOracleWithDilation) {
  expect_like_oracle(conv(1, 2, 1, 2), {input({1, 10, 9, 5}), constant({7, 3, 3, 5}), constant({7})}, kConv2dBound);
}

TEST(Conv2d, MatchesTheOracleWithGroups) {
  expect_like_oracle(conv(1, 1, 4), {input({1, 6, 7, 12}), constant({20, 3, 3, 3}), constant({20})}, kConv2dBound);
  expect_like_oracle(conv(1, 0, 3), {input({2, 5, 5, 9}), constant({6, 1, 1, 3}), constant({6})}, kConv2dBound);
}

TEST(Conv2d, MatchesTheOracleForDepthwiseKernels) {
  for (const int kernel : {1, 2, 3, 5, 7, 9})
    for (const int channels : {1, 7, 32, 45}) {
      SCOPED_TRACE(::testing::Message() << "kernel " << kernel << ", " << channels << " channels");
      const Operand weight = constant({channels, kernel, kernel, 1});
      expect_like_oracle(conv(1, kernel / 2, channels), {input({1, 9, 10, channels}), weight, constant({channels})},
                         kConv2dBound);
      expect_like_oracle(conv(2, kernel / 2, channels), {input({2, 9, 10, channels}), weight, constant({channels})},
                         kConv2dBound);
    }
}

TEST(Conv2d, MatchesTheOracleForDilatedDepthwiseKernels) {
  expect_like_oracle(conv(1, 2, 24, 2), {input({1, 11, 9, 24}), constant({24, 3, 3, 1}), constant({24})}, kConv2dBound);
}

TEST(Conv2d, MatchesTheOracleWithSeveralOutputsAGroupOfOneChannel) {
  expect_like_oracle(conv(1, 1, 5), {input({1, 7, 7, 5}), constant({10, 3, 3, 1}), constant({10})}, kConv2dBound);
}

TEST(Conv2d, MatchesTheOracleOnOnePixel) {
  expect_like_oracle(conv(), {input({1, 1, 1, 100}), constant({37, 1, 1, 100}), constant({37})}, kConv2dBound);
  expect_like_oracle(conv(1, 1), {input({1, 1, 1, 16}), constant({9, 3, 3, 16}), constant({9})}, kConv2dBound);
}

TEST(Conv2d, MatchesTheOracleForALongSum) {
  expect_like_oracle(conv(1, 1), {input({1, 7, 7, 512}), constant({16, 3, 3, 512}), constant({16})}, kConv2dBound);
}

// Large weights run in panels of output channels (sdk/cpu/xnnpack/panels.h): full ones, and a last one of any width.
TEST(Conv2d, MatchesTheOracleInPanels) {
  expect_like_oracle(conv(), {input({1, 7, 7, 512}), constant({273, 1, 1, 512}), constant({273})}, kConv2dBound);
  expect_like_oracle(conv(2), {input({2, 9, 8, 512}), constant({288, 1, 1, 512})}, kConv2dBound);
  expect_like_oracle(conv(2, 1), {input({1, 13, 12, 96}), constant({200, 3, 3, 96}), constant({200})}, kConv2dBound);
}

// Enough pixels and outputs for the GEMM of wide machines (sdk/cpu/gemm/gemm.h), with a last vector of any width.
TEST(Conv2d, MatchesTheOracleForManyPixelsAndOutputs) {
  for (const int outputs : {8, 16, 24, 27, 33, 64}) {
    SCOPED_TRACE(::testing::Message() << outputs << " outputs");
    expect_like_oracle(conv(2, 1), {input({2, 17, 22, 3}), constant({outputs, 3, 3, 3}), constant({outputs})},
                       kConv2dBound);
    expect_like_oracle(conv(4), {input({1, 24, 32, 3}), constant({outputs, 4, 4, 3}), constant({outputs})},
                       kConv2dBound);
    expect_like_oracle(conv(3, 6), {input({1, 14, 16, 20}), constant({outputs, 7, 5, 20})}, kConv2dBound);
    expect_like_oracle(conv(), {input({2, 9, 7, 11}), constant({outputs, 1, 1, 11}), constant({outputs})},
                       kConv2dBound);
  }
}

// Tiles inside an image are read in place, others are copied (sdk/cpu/depthwise/depthwise_op.h): several of each, over
// more rows than a tile has.
TEST(Conv2d, MatchesTheOracleForDepthwiseKernelsOnWideImages) {
  for (const int kernel : {3, 4, 5, 7, 9})
    for (const int channels : {16, 48, 64}) {
      SCOPED_TRACE(::testing::Message() << "kernel " << kernel << ", " << channels << " channels");
      fbs::Conv2dT p = conv(1, 1, channels);
      p.pad_right = 2;
      const Operand weight = constant({channels, kernel, kernel, 1});
      expect_like_oracle(p, {input({2, 7, 61, channels}), weight, constant({channels})}, kConv2dBound);
      p.stride_h = p.stride_w = 2;
      expect_like_oracle(p, {input({2, 13, 122, channels}), weight, constant({channels})}, kConv2dBound);
    }
}

TEST(Conv2d, MatchesTheOracleForDepthwiseKernelsOnEveryWidth) {
  for (const int kernel : {3, 5, 7, 9})
    for (int width = kernel; width < kernel + 9; ++width) {
      SCOPED_TRACE(::testing::Message() << "kernel " << kernel << ", width " << width);
      const Operand weight = constant({24, kernel, kernel, 1});
      expect_like_oracle(conv(1, 0, 24), {input({1, 17, width, 24}), weight, constant({24})}, kConv2dBound);
      expect_like_oracle(conv(2, kernel / 2, 24), {input({1, 17, width, 24}), weight, constant({24})}, kConv2dBound);
    }
}

TEST(Conv2d, MatchesTheOracleForDepthwiseKernelsWithUnevenPadding) {
  for (const int kernel : {3, 5, 7, 9}) {
    SCOPED_TRACE(::testing::Message() << "kernel " << kernel);
    fbs::Conv2dT p = conv(1, 0, 48);
    p.pad_top = kernel + 2;  // whole rows of the output read only padding
    p.pad_left = kernel - 1;
    p.pad_right = 1;
    const Operand weight = constant({48, kernel, kernel, 1});
    expect_like_oracle(p, {input({3, 11, 30, 48}), weight, constant({48})}, kConv2dBound);
    p.stride_h = 2;
    p.pad_bottom = kernel + 3;
    expect_like_oracle(p, {input({3, 11, 30, 48}), weight, constant({48})}, kConv2dBound);
    p.stride_w = 2;
    p.output_min = 0;
    expect_like_oracle(p, {input({3, 11, 30, 48}), weight, constant({48})}, kConv2dBound);
  }
}

TEST(Conv2d, MatchesTheOracleForRectangularDepthwiseKernels) {
  fbs::Conv2dT p = conv(1, 2, 20);
  expect_like_oracle(p, {input({1, 9, 21, 20}), constant({20, 1, 5, 1}), constant({20})}, kConv2dBound);
  expect_like_oracle(p, {input({1, 9, 21, 20}), constant({20, 5, 1, 1}), constant({20})}, kConv2dBound);
  expect_like_oracle(p, {input({1, 9, 21, 20}), constant({20, 2, 17, 1}), constant({20})}, kConv2dBound);
}

TEST(Conv2d, MatchesTheOracleForDepthwiseKernelsWiderThanTheImage) {
  fbs::Conv2dT p = conv(2, 0, 16);
  p.pad_right = 1;
  expect_like_oracle(p, {input({1, 9, 4, 16}), constant({16, 5, 5, 1}), constant({16})}, kConv2dBound);
}

TEST(Conv2d, WorksWithoutBias) {
  expect_like_oracle(conv(1, 1), {input({1, 6, 6, 4}), constant({8, 3, 3, 4})}, kConv2dBound);
  expect_like_oracle(conv(1, 1, 8), {input({1, 6, 6, 8}), constant({8, 3, 3, 1})}, kConv2dBound);
}

TEST(Conv2d, ClampsItsOutput) {
  for (const int groups : {1, 16}) {
    fbs::Conv2dT p = conv(1, 1, groups);
    p.output_min = 0;
    const std::vector<Operand> operands = {input({1, 8, 8, 16}), constant({16, 3, 3, 16 / groups}), constant({16})};
    std::vector<float> relu = expect_like_oracle(p, operands, kConv2dBound);
    p.output_max = groups == 1 ? 6.0f : 1.0f;  // clamps some of the sums of 144 and of 9 products
    std::vector<float> both = expect_like_oracle(p, operands, kConv2dBound);
    size_t at_min = 0, at_max = 0;
    for (const float value : both) {
      at_min += value == 0.0f;
      at_max += value == p.output_max;
    }
    EXPECT_GT(at_min, 0u);
    EXPECT_GT(at_max, 0u);
    EXPECT_NE(relu, both);
  }
}

// Most are below 2^-14, where float16 is subnormal. A CPU that flushes subnormals has a normalised mean squared error
// of 0.2 and more.
TEST(Conv2d, MultipliesByTinyWeights) {
  expect_like_oracle(conv(16), {input({1, 48, 32, 3}), constant({16, 16, 16, 3}, -1e-4, 1e-4)}, kConv2dBound);
  expect_like_oracle(conv(1, 1), {input({1, 12, 9, 20}), constant({24, 3, 3, 20}, -1e-4, 1e-4)}, kConv2dBound);
  expect_like_oracle(conv(1, 1, 32), {input({1, 12, 9, 32}), constant({32, 3, 3, 1}, -1e-4, 1e-4)}, kConv2dBound);
}

TEST(Conv2d, WidensFloat16Weights) {
  expect_like_oracle(conv(1, 1), {input({1, 6, 5, 7}), float16_constant({9, 3, 3, 7}), float16_constant({9})},
                     kConv2dBound);
  expect_like_oracle(conv(1, 1, 9), {input({1, 6, 5, 9}), float16_constant({9, 3, 3, 1}), constant({9})}, kConv2dBound);
}

TEST(Conv2d, KeepsBatchesApart) {
  expect_like_oracle(conv(1, 1), {input({3, 5, 6, 8}), constant({12, 3, 3, 8}), constant({12})}, kConv2dBound);
  expect_like_oracle(conv(), {input({3, 5, 6, 8}), constant({12, 1, 1, 8}), constant({12})}, kConv2dBound);
}

// By hand: a 2x2 kernel of 1, 2, 3, 4 over the image 0..8, padded by one on the left.
TEST(Conv2dOracle, CountsByHand) {
  fbs::Conv2dT p = conv();
  p.pad_left = 1;
  const reference::Array y = oracle(p, {{{1, 3, 3, 1}, counting(9)}, {{1, 2, 2, 1}, {1, 2, 3, 4}}, {{1}, {0.5}}});
  EXPECT_EQ(y.shape, (Shape{1, 2, 3, 1}));
  EXPECT_EQ(y.values, (std::vector<double>{12.5, 27.5, 37.5, 30.5, 57.5, 67.5}));
}

// By hand: two groups of two inputs and one output each.
TEST(Conv2dOracle, KeepsGroupsApart) {
  const reference::Array y =
      oracle(conv(1, 0, 2), {{{1, 1, 1, 4}, {1, 2, 3, 4}}, {{2, 1, 1, 2}, {10, 100, 1000, 10000}}});
  EXPECT_EQ(y.values, (std::vector<double>{210, 43000}));
}

}  // namespace
}  // namespace ferry::testing
