#include "tests/converter/pass_network.h"

namespace ferry {
namespace {

Tensor conv(Network& n, Tensor x, const Shape& weight, fbs::Conv2dT params, double seed) {
  params.groups = channels(x) / weight[3];
  return n.graph.add_op("conv", params, {x, n.constant(weight, seed), n.constant({weight[0]}, seed + 1)});
}

fbs::Conv2dT padded(int padding, int stride = 1) {
  fbs::Conv2dT params;
  params.pad_top = params.pad_left = params.pad_bottom = params.pad_right = padding;
  params.stride_h = params.stride_w = stride;
  return params;
}

Tensor norm(Network& n, Tensor x, double seed) {
  return x * n.constant({channels(x)}, seed) + n.constant({channels(x)}, seed + 1);
}

TEST(MergeBranches, RepVggsThreeBranchesAreOneConvolution) {
  for (const int depth : {1, 3, 6}) {  // input channels per group: depthwise, grouped, dense
    Network n;
    const Tensor x = n.input({2, 5, 4, 6});
    const Tensor wide = norm(n, conv(n, x, {6, 3, 3, depth}, padded(1), 1), 3);
    const Tensor narrow = conv(n, x, {6, 1, 1, depth}, padded(0), 5);
    n.output(norm(n, wide + narrow + x, 7));
    n.expect_same_after(merge_branches);
    n.expect_same_after(fold_scale_shift);
    EXPECT_EQ(n.ops(), Ops{kConv}) << depth;
  }
}

// x + gamma * (mixer(x) - norm(x)); the mixer's own branches are a scaled identity and two convolutions.
TEST(MergeBranches, RepMixerIsOneConvolution) {
  Network n;
  const Tensor x = n.input({1, 5, 5, 4});
  const Tensor narrow = norm(n, conv(n, x, {4, 1, 1, 1}, padded(0), 1), 2);
  const Tensor wide = norm(n, conv(n, x, {4, 3, 3, 1}, padded(1), 3), 4);
  const Tensor mixer = narrow + norm(n, x, 5) + wide;
  n.output(x + (mixer - norm(n, x, 7)) * n.constant({4}, 9));
  n.expect_same_after(merge_branches);
  EXPECT_EQ(n.ops(), Ops{kConv});
}

TEST(MergeBranches, TheSubtrahendMayBeEither) {
  for (const bool swapped : {false, true}) {
    Network n;
    const Tensor x = n.input({1, 3, 3, 2});
    const Tensor y = conv(n, x, {2, 3, 3, 2}, padded(1), 1);
    n.output(swapped ? x - y : y - x);
    n.expect_same_after(merge_branches);
    EXPECT_EQ(n.ops(), Ops{kConv}) << swapped;
  }
}

TEST(MergeBranches, StridesAndUnevenPaddingMeetInTheMiddle) {
  for (const int height : {1, 6, 7}) {
    Network n;
    const Tensor x = n.input({1, height, 5, 3});
    fbs::Conv2dT large = padded(3, 2);
    large.pad_left = 4, large.pad_right = 2;  // 7 wide: reaches 4 to the left and 2 to the right
    n.output(conv(n, x, {4, 7, 7, 3}, large, 1) + conv(n, x, {4, 3, 3, 3}, padded(1, 2), 3));
    n.expect_same_after(merge_branches);
    EXPECT_EQ(n.ops(), Ops{kConv}) << height;
  }
}

TEST(MergeBranches, TheSumsClampStays) {
  Network n;
  const Tensor x = n.input({1, 3, 3, 2});
  n.output(relu(conv(n, x, {2, 1, 1, 2}, padded(0), 1) + x));
  n.expect_same_after(fuse_activation);
  n.expect_same_after(merge_branches);
  EXPECT_EQ(n.ops(), Ops{kConv});
}

TEST(MergeBranches, LinearLayersOfOneInputAreOne) {
  Network n;
  const Tensor x = n.input({3, 5});
  n.output((n.linear(x, 4) + n.linear(x, 4)) * 0.5);
  n.expect_same_after(merge_branches);
  n.expect_same_after(fold_scale_shift);
  EXPECT_EQ(n.ops(), Ops{kLinear});
}

TEST(MergeBranches, OtherSumsStay) {
  const auto stays = [](const char* why, auto build) {
    Network n;
    const Tensor x = n.input({1, 4, 4, 4});
    n.output(build(n, x));
    const Ops before = n.ops();
    n.expect_same_after(merge_branches);
    EXPECT_EQ(n.ops(), before) << why;
  };
  stays("two inputs", [](Network& n, Tensor x) {
    return conv(n, sigmoid(x), {4, 1, 1, 4}, padded(0), 1) + conv(n, x, {4, 1, 1, 4}, padded(0), 3);
  });
  stays("a depthwise one would become dense", [](Network& n, Tensor x) {
    return conv(n, x, {4, 3, 3, 1}, padded(1), 1) + conv(n, x, {4, 1, 1, 4}, padded(0), 3);
  });
  stays("a square holds more than its row and column", [](Network& n, Tensor x) {
    fbs::Conv2dT row, column;
    row.pad_left = row.pad_right = column.pad_top = column.pad_bottom = 1;
    return conv(n, x, {4, 1, 3, 4}, row, 1) + conv(n, x, {4, 3, 1, 4}, column, 3);
  });
  stays("a clamp in a branch", [](Network& n, Tensor x) {
    fbs::Conv2dT clamped;
    clamped.output_min = 0;
    return conv(n, x, {4, 1, 1, 4}, clamped, 1) + x;
  });
  stays("a branch broadcast to the sum", [](Network& n, Tensor x) {
    return conv(n, global_avg_pool(x), {4, 1, 1, 4}, padded(0), 1) + global_avg_pool(x) + x;
  });
  stays("no product at all", [](Network& n, Tensor x) { return norm(n, x, 1) + x; });
}

// Equal only at this size; at other sizes the branches differ.
TEST(MergeBranches, AccidentallyEqualSizesStayApart) {
  Network n;
  const Tensor x = n.input({1, 1, 1, 2});
  n.output(conv(n, x, {2, 3, 3, 2}, padded(1, 2), 1) + conv(n, x, {2, 1, 1, 2}, padded(0), 3) + x);
  n.expect_same_after(merge_branches);
  EXPECT_EQ(n.ops(), (Ops{kConv, kConv, kBinary, kBinary}));
}

TEST(MergeBranches, ATappedBranchStaysApart) {
  Network n;
  const Tensor x = n.input({1, 4, 4, 2});
  const Tensor wide = conv(n, x, {2, 3, 3, 2}, padded(1), 1);
  n.tap("wide", wide);
  n.output(wide + conv(n, x, {2, 1, 1, 2}, padded(0), 3) + x);
  n.expect_same_after(merge_branches, {.keep_taps = true});
  EXPECT_EQ(n.ops(), (Ops{kConv, kConv, kBinary, kBinary}));
  n.expect_same_after(merge_branches);
  EXPECT_EQ(n.ops(), Ops{kConv});
}

TEST(FoldInputScaleShift, ANormAheadOfALinearLayerVanishesIntoIt) {
  Network n;
  n.output(n.linear(norm(n, n.input({3, 5}), 1), 4));
  n.expect_same_after(fold_input_scale_shift);
  EXPECT_EQ(n.ops(), Ops{kLinear});
}

TEST(FoldInputScaleShift, AndIntoAnUnpaddedConvolutionOfGroups) {
  Network n;
  n.output(conv(n, norm(n, n.input({2, 4, 4, 6}), 1), {4, 3, 3, 3}, padded(0), 5));
  n.expect_same_after(fold_input_scale_shift);
  EXPECT_EQ(n.ops(), Ops{kConv});
}

TEST(FoldInputScaleShift, AReshapeBetweenThatKeepsTheChannelsStays) {
  for (const std::vector<int32_t>& shape : {std::vector{0, -1, 4}, std::vector{0, -1, 8}}) {
    Network n;
    n.output(n.linear(reshape(norm(n, n.input({2, 4, 4, 4}), 1), shape), 5));
    n.expect_same_after(fold_input_scale_shift);
    EXPECT_EQ(n.ops(), shape[2] == 4 ? (Ops{kReshape, kLinear}) : (Ops{kBinary, kBinary, kReshape, kLinear}));
  }
}

TEST(FoldInputScaleShift, PaddingComesAfterTheShift) {
  Network n;
  n.output(conv(n, norm(n, n.input({1, 4, 4, 2}), 1), {4, 3, 3, 2}, padded(1), 5));
  n.expect_same_after(fold_input_scale_shift);
  EXPECT_EQ(n.ops(), (Ops{kBinary, kBinary, kConv}));
}

TEST(FoldInputScaleShift, ANormWithTwoReadersStays) {
  Network n;
  const Tensor x = norm(n, n.input({3, 5}), 1);
  n.output(n.linear(x, 5) + x);
  n.expect_same_after(fold_input_scale_shift);
  EXPECT_EQ(n.ops(), (Ops{kBinary, kBinary, kLinear, kBinary}));
}

// RepViT's head: two norms and classifiers, averaged.
TEST(Passes, TwoNormedHeadsAreOneLinearLayer) {
  Network n;
  const Tensor x = n.input({3, 5});
  n.output((n.linear(norm(n, x, 1), 4) + n.linear(norm(n, x, 3), 4)) * 0.5);
  n.expect_same_after(run_passes);
  EXPECT_EQ(n.ops(), Ops{kLinear});
}

}  // namespace
}  // namespace ferry
