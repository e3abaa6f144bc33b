#include <limits>

#include "tests/ops/harness.h"

namespace ferry::testing {
namespace {

constexpr double kDeformConv2dBound = 2e-6;     // float32 sums, against float64
constexpr double kDeformConv2dGpuBound = 3e-6;  // of up to 5400 products in sequence

fbs::DeformConv2dT deform(int stride = 1, int pad = 0, int groups = 1, int offset_groups = 1, int dilation = 1) {
  fbs::DeformConv2dT p;
  p.stride_h = p.stride_w = stride;
  p.pad_top = p.pad_left = p.pad_bottom = p.pad_right = pad;
  p.groups = groups;
  p.offset_groups = offset_groups;
  p.dilation_h = p.dilation_w = dilation;
  return p;
}

int32_t size(int32_t image, int before, int after, int kernel, int stride, int dilation) {
  return (image + before + after - dilation * (kernel - 1) - 1) / stride + 1;
}

// x, weight, bias, offsets of up to `reach` pixels and a mask in [0, 1).
std::vector<Operand> operands(const fbs::DeformConv2dT& p, const Shape& x, int outputs, int kernel_h, int kernel_w,
                              double reach = 2.5, bool masked = true) {
  const int32_t rows = size(x[1], p.pad_top, p.pad_bottom, kernel_h, p.stride_h, p.dilation_h);
  const int32_t columns = size(x[2], p.pad_left, p.pad_right, kernel_w, p.stride_w, p.dilation_w);
  const int32_t cells = p.offset_groups * kernel_h * kernel_w;
  std::vector<Operand> out = {input(x), constant({outputs, kernel_h, kernel_w, x[3] / p.groups}), constant({outputs}),
                              input({x[0], rows, columns, 2 * cells}, -reach, reach)};
  if (masked) out.push_back(input({x[0], rows, columns, cells}, 0, 1));
  return out;
}

// GPUs read whole quads: groups, and channel blocks with their own offsets, must end at quads.
bool left_to_cpu(const fbs::DeformConv2dT& p, const Shape& x, int outputs) {
  return (p.groups > 1 && (x[3] / p.groups % 4 != 0 || outputs / p.groups % 4 != 0)) ||
         (p.offset_groups > 1 && x[3] / p.offset_groups % 4 != 0);
}

void expect_convolved(const fbs::DeformConv2dT& p, const Shape& x, int outputs, int kernel_h, int kernel_w,
                      double reach = 2.5) {
  for (const bool masked : {false, true}) {
    SCOPED_TRACE(masked ? "with a mask" : "without a mask");
    expect_like_oracle(p, operands(p, x, outputs, kernel_h, kernel_w, reach, masked), kDeformConv2dBound,
                       kDeformConv2dGpuBound, left_to_cpu(p, x, outputs));
  }
}

TEST(DeformConv2d, MatchesTheOracleForKernelsOfAllSizes) {
  for (const int kernel : {1, 2, 3, 5, 7})
    for (const int stride : {1, 2, 3}) {
      SCOPED_TRACE(::testing::Message() << "kernel " << kernel << ", stride " << stride);
      expect_convolved(deform(stride, kernel / 2), {1, 13, 11, 6}, 10, kernel, kernel);
    }
}

TEST(DeformConv2d, MatchesTheOracleForRectangularKernelsAndUnevenPadding) {
  fbs::DeformConv2dT p = deform();
  p.stride_h = 2;
  p.pad_left = 2;
  p.pad_bottom = 1;
  p.dilation_w = 2;
  expect_convolved(p, {2, 11, 14, 20}, 17, 1, 5);
  expect_convolved(p, {1, 11, 14, 3}, 5, 4, 2);
}

TEST(DeformConv2d, MatchesTheOracleWithDilation) {
  expect_convolved(deform(1, 2, 1, 1, 2), {3, 17, 12, 40}, 33, 3, 3);
  expect_convolved(deform(2, 3, 1, 2, 3), {1, 15, 16, 8}, 12, 3, 3);
}

// Offset groups end within groups, and groups within offset groups.
TEST(DeformConv2d, MatchesTheOracleWithGroupsAndOffsetGroups) {
  for (const int groups : {1, 2, 3, 6, 12})
    for (const int offset_groups : {1, 2, 3, 4, 12}) {
      SCOPED_TRACE(::testing::Message() << groups << " groups, " << offset_groups << " offset groups");
      expect_convolved(deform(1, 1, groups, offset_groups), {2, 7, 6, 12}, 24, 3, 3);
    }
  expect_convolved(deform(1, 1, 2, 4), {1, 7, 6, 32}, 40, 3, 3);
  expect_convolved(deform(1, 1, 4, 2), {1, 7, 6, 32}, 48, 3, 3);
}

// Kernel cells are multiplied a few at a time, outputs in panels, positions in tiles.
TEST(DeformConv2d, MatchesTheOracleForManyChannelsAndPlaces) {
  expect_convolved(deform(1, 1), {1, 9, 8, 200}, 130, 3, 3);
  expect_convolved(deform(1, 1), {1, 5, 4, 600}, 70, 3, 3);
  expect_convolved(deform(1, 3), {1, 20, 21, 16}, 16, 7, 7);
}

TEST(DeformConv2d, ReadsZerosOutsideTheImage) {
  expect_convolved(deform(1, 1), {1, 8, 9, 5}, 6, 3, 3, 30);
  expect_convolved(deform(1, 4), {1, 1, 1, 5}, 6, 3, 3, 3);
}

TEST(DeformConv2d, WidensFloat16Weights) {
  const fbs::DeformConv2dT p = deform(1, 1);
  std::vector<Operand> of = operands(p, {1, 6, 5, 8}, 9, 3, 3);
  of[1] = float16_constant(of[1].shape);
  expect_like_oracle(p, of, kDeformConv2dBound, kDeformConv2dGpuBound);
}

// NaN, and positions that overflow an integer, are outside.
TEST(DeformConv2d, TakesAnyOffset) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity(), kNaN = std::numeric_limits<double>::quiet_NaN();
  const double offsets[] = {kNaN,   kInfinity, -kInfinity, 1e30,  -1e30,  2147483648.0, -2147483648.0,
                            9.3e18, -9.3e18,   0x1p40,     1e-40, -1e-40, -0.0,         0.375,
                            -1,     -1.5,      1,          65536, -65536};
  for (const bool masked : {false, true}) {
    const fbs::DeformConv2dT p = deform(1, 1, 2, 2);
    std::vector<Operand> of = operands(p, {1, 12, 12, 8}, 16, 3, 3, 2, masked);
    for (int64_t i = 0; i < of[3].shape.elements(); ++i)
      of[3].values.push_back(offsets[static_cast<size_t>(i * 7 + i / 19) % std::size(offsets)]);
    expect_like_oracle(p, of, kDeformConv2dBound, kDeformConv2dGpuBound);
  }
}

// By hand: a 1x1 kernel reads between four pixels, at the edge, and beyond it.
TEST(DeformConv2dOracle, CountsByHand) {
  const auto at = [](double y, double x) {
    const std::vector<reference::Array> inputs = {{{1, 2, 2, 1}, {1, 2, 3, 4}},
                                                  {{1, 1, 1, 1}, {10}},
                                                  {{1}, {0.5}},
                                                  {{1, 2, 2, 2}, {y, x, 0, 0, 0, 0, 0, 0}},
                                                  {{1, 2, 2, 1}, {2, 1, 1, 1}}};
    return oracle(deform(), inputs).values.front();
  };
  EXPECT_EQ(at(0, 0), 20.5);
  EXPECT_EQ(at(0.5, 0.5), 50.5);
  EXPECT_EQ(at(0.25, 0), 30.5);
  EXPECT_EQ(at(-0.5, 0), 10.5);
  EXPECT_EQ(at(1.5, 1.5), 20.5);
  EXPECT_EQ(at(-1, 0), 0.5);
  EXPECT_EQ(at(0, 2), 0.5);
}

// By hand: two offset groups, of which only the second one has an offset.
TEST(DeformConv2dOracle, KeepsBlocksApart) {
  const reference::Array y = oracle(
      deform(1, 0, 1, 2),
      {{{1, 1, 2, 2}, {1, 2, 3, 4}}, {{1, 1, 1, 2}, {10, 100}}, {{1}, {0}}, {{1, 1, 2, 4}, {0, 0, 0, 1, 0, 0, 0, 0}}});
  EXPECT_EQ(y.values, (std::vector<double>{410, 430}));
}

}  // namespace
}  // namespace ferry::testing
