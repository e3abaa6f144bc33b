#include <cmath>

#include "tests/ops/harness.h"

namespace ferry::testing {
namespace {

constexpr double kBound = 2e-6;  // float32 sums, against double

fbs::DeformConv2dT deform(int stride = 1, int pad = 0, int groups = 1, int offset_groups = 1, int dilation = 1) {
  fbs::DeformConv2dT p;
  p.stride_h = p.stride_w = stride;
  p.pad_top = p.pad_left = p.pad_bottom = p.pad_right = pad;
  p.groups = groups;
  p.offset_groups = offset_groups;
  p.dilation_h = p.dilation_w = dilation;
  return p;
}

int32_t size(int32_t picture, int before, int after, int kernel, int stride, int dilation) {
  return (picture + before + after - dilation * (kernel - 1) - 1) / stride + 1;
}

// x, weight, bias, offsets up to `reach` pixels away and a mask on [0, 1).
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

void expect_convolved(const fbs::DeformConv2dT& p, const Shape& x, int outputs, int kernel_h, int kernel_w,
                      double reach = 2.5) {
  for (const bool masked : {false, true}) {
    SCOPED_TRACE(masked ? "with a mask" : "without a mask");
    expect_like_oracle(p, operands(p, x, outputs, kernel_h, kernel_w, reach, masked), kBound);
  }
}

TEST(DeformConv2d, MatchesTheOracleForKernelsOfAllSizes) {
  for (const int kernel : {1, 2, 3, 5, 7})
    for (const int stride : {1, 2, 3}) {
      SCOPED_TRACE(::testing::Message() << "kernel " << kernel << ", stride " << stride);
      expect_convolved(deform(stride, kernel / 2), {1, 13, 11, 6}, 10, kernel, kernel);
    }
}

}  // namespace
}  // namespace ferry::testing
