#include "tests/converter/pass_network.h"

namespace ferry {
namespace {

constexpr auto kResize = fbs::OpParams::Resize2d;
constexpr auto kConcat = fbs::OpParams::Concat;
using Kind = fbs::ResizeKind;

// SegFormer's decoder: feature maps of several sizes, upscaled to the largest and concatenated.
TEST(MultiplyBeforeUpscaling, MapsSideBySideAreMultipliedInTheirOwnSize) {
  Network n;
  const Tensor x = n.input({2, 12, 10, 6});
  const Tensor a = max_pool2d(x, {.kernel = 2, .stride = 2}), b = max_pool2d(a, {.kernel = 3, .stride = 2});
  n.output(n.conv(concat({resize_like(b, x, Kind::Bilinear), resize_to(a, Kind::Bicubic, 12, 10), x}), 5, 1, true));
  n.expect_same_after(multiply_before_upscaling);
  EXPECT_EQ(n.ops(), (Ops{kPool, kPool, kConv, kConv, kResize, kConv, kResize, kBinary, kBinary}));
}

TEST(MultiplyBeforeUpscaling, OneMapIsMultipliedBeforehand) {
  for (const bool linear : {false, true}) {
    Network n;
    const Tensor x = resize(n.input({1, 5, 7, 6}), Kind::Bilinear, 2, true);
    n.output(linear ? n.linear(x, 6) : n.conv(x, 6, 1, true));
    n.expect_same_after(multiply_before_upscaling);
    EXPECT_EQ(n.ops(), (Ops{linear ? kLinear : kConv, kResize}));
  }
}

// Two products of an upscaled map.
TEST(MultiplyBeforeUpscaling, ProductsOneAfterTheOtherAllMoveForward) {
  Network n;
  n.output(n.conv(n.conv(resize(n.input({1, 5, 7, 6}), Kind::Nearest, 2), 6, 1, true), 4, 1, false));
  n.expect_same_after(multiply_before_upscaling);
  EXPECT_EQ(n.ops(), (Ops{kConv, kConv, kResize}));
}

TEST(MultiplyBeforeUpscaling, PlainMapsAreMultipliedTogether) {
  Network n;
  const Tensor x = n.input({1, 8, 8, 6}), small = max_pool2d(x, {.kernel = 2, .stride = 2});
  n.output(n.conv(concat({x, resize(small, Kind::Bilinear, 2), relu(x)}), 3, 1, true));
  n.expect_same_after(multiply_before_upscaling);
  EXPECT_EQ(n.ops(), (Ops{kPool, kUnary, kConcat, kConv, kConv, kResize, kBinary}));
}

TEST(MultiplyBeforeUpscaling, LeavesCasesWithoutSavings) {
  const auto leaves = [](Network& n) {
    const Ops before = n.ops();
    n.expect_same_after(multiply_before_upscaling);
    EXPECT_EQ(n.ops(), before);
  };
  Network smaller;
  smaller.output(smaller.conv(resize_to(smaller.input({1, 8, 8, 6}), Kind::Bilinear, 4, 4), 6, 1, true));
  leaves(smaller);
  Network wider;  // twice as many channels to upscale by a small factor
  wider.output(wider.conv(resize_to(wider.input({1, 8, 8, 3}), Kind::Bilinear, 8, 9), 60, 1, true));
  leaves(wider);
  Network neighbours;
  neighbours.output(neighbours.conv(resize(neighbours.input({1, 8, 8, 6}), Kind::Bilinear, 2), 6, 3, true));
  leaves(neighbours);
  Network tapped;
  const Tensor large = resize(tapped.input({1, 8, 8, 6}), Kind::Bilinear, 2);
  tapped.tap("large", large, true);
  tapped.output(tapped.conv(large, 6, 1, true));
  leaves(tapped);
}

TEST(MergeProducts, TwoBecomeOne) {
  Network n;
  n.output(n.linear(n.linear(n.input({2, 7, 4}), 9), 5));
  n.expect_same_after(merge_products);
  EXPECT_EQ(n.ops(), (Ops{kLinear}));
}

TEST(MergeProducts, TokensMayBecomeAMapBetweenThem) {
  for (const int channels : {-1, 9}) {
    Network n;
    const Tensor map = reshape(n.linear(n.input({1, 6, 4}), 9), {0, 2, 3, channels});
    n.output(n.conv(map, 5, 1, false));
    n.expect_same_after(merge_products);
    EXPECT_EQ(n.ops(), (Ops{kLinear, kReshape}));
  }
}

TEST(MergeProducts, SeveralInARow) {
  Network n;
  const Tensor map = reshape(n.linear(n.input({1, 6, 4}), 9), {0, 2, 3, -1});
  n.output(n.conv(n.conv(map, 8, 1, true), 5, 1, true));
  n.expect_same_after(run_passes);
  EXPECT_EQ(n.graph.shape(n.graph.table.outputs.front()->tensor), (Shape{1, 2, 3, 5}));
}

TEST(MergeProducts, LeavesBottlenecksAndReadValues) {
  Network narrow;
  narrow.output(narrow.linear(narrow.linear(narrow.input({2, 7, 8}), 2), 8));
  narrow.expect_same_after(merge_products);
  EXPECT_EQ(narrow.ops().size(), 2u);
  Network read;
  const Tensor between = read.linear(read.input({2, 7, 4}), 9);
  read.output(read.linear(between, 9) + between);
  read.expect_same_after(merge_products);
  EXPECT_EQ(read.ops().size(), 3u);
  Network clamped;
  clamped.output(clamped.linear(relu(clamped.linear(clamped.input({2, 7, 4}), 9)), 5));
  clamped.expect_same_after(run_passes);
  EXPECT_EQ(clamped.ops(), (Ops{kLinear, kLinear}));
}

}  // namespace
}  // namespace ferry
