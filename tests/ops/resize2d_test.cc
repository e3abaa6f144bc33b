#include "tests/ops/harness.h"

namespace ferry::testing {
namespace {

constexpr double kBound = 3e-7;  // two roundings on each of two levels

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
    expect_like_oracle(resize(fbs::ResizeKind::Bilinear, scale, scale), {input({2, 5, 7, 19})}, kBound);
    expect_like_oracle(resize(fbs::ResizeKind::Bilinear, scale, 1), {input({1, 6, 1, 3})}, kBound);
    expect_like_oracle(resize(fbs::ResizeKind::Bilinear, 2, scale), {input({1, 1, 1, 4})}, kBound);
  }
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
