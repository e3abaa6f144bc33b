#include <string>

#include "tests/ops/harness.h"

namespace ferry::testing {
namespace {

constexpr double kResize2dBound = 3e-7;  // two roundings at each of two levels

fbs::Resize2dT resize(fbs::ResizeKind kind, int scale_h, int scale_w) {
  fbs::Resize2dT p;
  p.kind = kind;
  p.scale_h = scale_h;
  p.scale_w = scale_w;
  return p;
}

TEST(Resize2d, RepeatsTheNearestCell) {
  for (const int channels : {1, 3, 64}) {
    expect_like_oracle(resize(fbs::ResizeKind::Nearest, 2, 2), {input({2, 5, 7, channels})}, 0);
    expect_like_oracle(resize(fbs::ResizeKind::Nearest, 4, 1), {input({1, 3, 4, channels})}, 0);
    expect_like_oracle(resize(fbs::ResizeKind::Nearest, 1, 3), {input({1, 3, 4, channels})}, 0);
  }
}

TEST(Resize2d, InterpolatesBetweenHalfPixelCentres) {
  for (const int scale : {1, 2, 3, 4, 8}) {
    SCOPED_TRACE(scale);
    expect_like_oracle(resize(fbs::ResizeKind::Bilinear, scale, scale), {input({2, 5, 7, 19})}, kResize2dBound);
    expect_like_oracle(resize(fbs::ResizeKind::Bilinear, scale, 1), {input({1, 6, 1, 3})}, kResize2dBound);
    expect_like_oracle(resize(fbs::ResizeKind::Bilinear, 2, scale), {input({1, 1, 1, 4})}, kResize2dBound);
  }
}

fbs::Resize2dT resize_to(fbs::ResizeKind kind, int height, int width, bool align_corners) {
  fbs::Resize2dT p;
  p.kind = kind;
  p.height = height;
  p.width = width;
  p.align_corners = align_corners;
  return p;
}

TEST(Resize2d, TakesItsSidesFromAnotherTensor) {
  for (const auto kind : {fbs::ResizeKind::Nearest, fbs::ResizeKind::Bilinear, fbs::ResizeKind::Bicubic}) {
    const double bound = kind == fbs::ResizeKind::Nearest ? 0 : 5e-7;
    expect_like_oracle(resize_to(kind, -3, -4, false), {input({2, 5, 7, 19}), input({2, 11, 13, 19})}, bound);
    expect_like_oracle(resize_to(kind, -4, 9, false), {input({2, 5, 7, 3}), input({1, 4, 13})}, bound);
  }
}

TEST(Resize2d, ReachesAnySizeWithBothCornerConventions) {
  for (const auto kind : {fbs::ResizeKind::Nearest, fbs::ResizeKind::Bilinear, fbs::ResizeKind::Bicubic}) {
    for (const bool align : {false, true}) {
      SCOPED_TRACE(std::string(fbs::EnumNameResizeKind(kind)) + (align ? ", corners aligned" : ""));
      const double bound = kind == fbs::ResizeKind::Nearest ? 0 : 5e-7;
      expect_like_oracle(resize_to(kind, 14, 9, align), {input({2, 5, 7, 19})}, bound);
      expect_like_oracle(resize_to(kind, 3, 4, align), {input({3, 8, 11, 5})}, bound);
      expect_like_oracle(resize_to(kind, 1, 1, align), {input({1, 4, 3, 2})}, bound);
      expect_like_oracle(resize_to(kind, 6, 5, align), {input({1, 1, 1, 1})}, bound);
      expect_like_oracle(resize_to(kind, 37, 36, align), {input({1, 14, 13, 2})}, bound);
    }
  }
}

// torch.nn.functional.interpolate(arange(4.).reshape(1, 1, 1, 4), size=(1, 6), mode="bicubic"): torch 1.13.
TEST(Resize2dOracle, AgreesWithPyTorchsBicubic) {
  const reference::Array x{{1, 1, 4, 1}, {0, 1, 2, 3}};
  const std::vector<double> half_pixel = {-0.0868055820, 0.40625, 1.2129627466, 1.7870371342, 2.59375, 3.0868055820},
                            aligned = {0, 0.504, 1.248, 1.752, 2.496, 3};
  const auto near = [&](bool align, const std::vector<double>& expected) {
    const auto values = oracle(resize_to(fbs::ResizeKind::Bicubic, 1, 6, align), {x}).values;
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(values[i], expected[i], 1e-6) << i;
  };
  near(false, half_pixel);
  near(true, aligned);
}

// PyTorch's documentation of nn.Upsample: [[1, 2], [3, 4]] doubled, align_corners=False.
TEST(Resize2dOracle, AgreesWithPyTorchsExample) {
  const reference::Array x{{1, 2, 2, 1}, {1, 2, 3, 4}};
  EXPECT_EQ(oracle(resize(fbs::ResizeKind::Bilinear, 2, 2), {x}).values,
            (std::vector<double>{1, 1.25, 1.75, 2, 1.5, 1.75, 2.25, 2.5, 2.5, 2.75, 3.25, 3.5, 3, 3.25, 3.75, 4}));
  EXPECT_EQ(oracle(resize(fbs::ResizeKind::Nearest, 2, 1), {x}).values, (std::vector<double>{1, 2, 1, 2, 3, 4, 3, 4}));
}

}  // namespace
}  // namespace ferry::testing
