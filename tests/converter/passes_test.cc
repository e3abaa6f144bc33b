#include "converter/passes/passes.h"

#include <limits>
#include <map>

#include "tests/converter/pass_network.h"

namespace ferry {
namespace {

TEST(FoldConstants, ComputesValuesOfConstants) {
  Network n;
  const Tensor c = n.constant({1, 1, 1, 3}, 1) * n.constant({3}, 2);
  n.output(n.input({1, 2, 2, 3}) + sigmoid(c));
  n.expect_same_after(fold_constants);
  EXPECT_EQ(n.ops(), Ops{kBinary});
}

TEST(FoldConstants, KeepsAConstantThatIsAnOutput) {
  Network n;
  n.input({1, 1, 1, 3});
  n.output(sigmoid(n.constant({3}, 2)));
  n.expect_same_after(fold_constants);
  EXPECT_EQ(n.ops(), Ops{kUnary});
}

TEST(FoldConstants, LargeValuesAreComputedWhenTheyAreRead) {
  Network n;
  const Tensor parts = reshape(n.constant({512, 256}, 1), {2, 256, 256});
  const Tensor c = slice(parts, 1, 10, 200);
  n.output(n.input({1, 200, 256}) + slice(c, 0, 0, 1) * slice(c, 0, 1, 1));
  n.expect_same_after(fold_constants);
  ASSERT_EQ(n.ops(), Ops{kBinary});
  EXPECT_TRUE(n.graph.source(n.graph.table.operators.front()->inputs[1]).compute);
}

TEST(FoldConstants, AValueThatIsReadTwiceManyTimesIsComputedOnce) {
  Network n;
  Tensor c = n.constant({300, 256}, 1);
  for (int i = 0; i < 40; ++i) c = (c + c) * 0.5;
  n.output(n.input({300, 256}) + c);
  n.expect_same_after(fold_constants);
  EXPECT_EQ(n.ops(), Ops{kBinary});
}

TEST(FoldScaleShift, BatchNormVanishesIntoAConvolution) {
  for (const bool bias : {false, true}) {
    Network n;
    n.output(n.conv(n.input({1, 5, 5, 3}), 4, 3, bias) * n.constant({4}, 6) + n.constant({4}, 7));
    n.expect_same_after(fold_scale_shift);
    EXPECT_EQ(n.ops(), Ops{kConv});
  }
}

TEST(FoldScaleShift, AndActivationVanishIntoATransposedConvolution) {
  Network n;
  fbs::ConvTranspose2dT params;
  params.stride_h = params.stride_w = 2;
  params.groups = 2;
  const Tensor y = n.graph.add_op("up", params, {n.input({1, 3, 3, 4}), n.constant({6, 3, 3, 2}, 1)});
  n.output(relu(y * n.constant({6}, 6) + n.constant({6}, 7)));
  n.expect_same_after(fold_scale_shift);
  EXPECT_EQ(n.ops(), (Ops{kConvTranspose, kUnary}));
  n.expect_same_after(fuse_activation);
  EXPECT_EQ(n.ops(), Ops{kConvTranspose});
}

TEST(FoldScaleShift, WorksOnDepthwiseConvolutionsAndLinears) {
  Network depthwise;
  depthwise.output(depthwise.conv(depthwise.input({1, 5, 5, 4}), 8, 3, false, 4) * depthwise.constant({8}, 6));
  depthwise.expect_same_after(fold_scale_shift);
  EXPECT_EQ(depthwise.ops(), Ops{kConv});
  Network linear;
  linear.output(linear.linear(linear.input({2, 6}), 5) * linear.constant({1, 5}, 6));
  linear.expect_same_after(fold_scale_shift);
  EXPECT_EQ(linear.ops(), Ops{kLinear});
}

TEST(FoldScaleShift, KnowsEveryArithmeticAndBothOrders) {
  for (const auto kind : {fbs::BinaryKind::Add, fbs::BinaryKind::Sub, fbs::BinaryKind::Mul, fbs::BinaryKind::Div}) {
    for (const bool constant_first : {false, true}) {
      Network n;
      const Tensor x = n.conv(n.input({1, 4, 4, 3}), 4, 1, true), c = n.constant({4}, 6);
      fbs::BinaryT params;
      params.kind = kind;
      n.output(n.graph.add_op("", params, constant_first ? std::vector{c, x} : std::vector{x, c}));
      n.expect_same_after(fold_scale_shift);
      // c / x is not affine.
      EXPECT_EQ(n.ops().size(), kind == fbs::BinaryKind::Div && constant_first ? 2u : 1u) << EnumNameBinaryKind(kind);
    }
  }
}

TEST(FoldScaleShift, CarriesTheClampOfTheLastStep) {
  Network n;
  fbs::BinaryT add;
  add.output_min = 0;
  add.output_max = 0.5f;
  n.output(n.graph.add_op("", add, {n.conv(n.input({1, 4, 4, 3}), 4, 1, true), n.constant({4}, 6)}));
  n.expect_same_after(fold_scale_shift);
  EXPECT_EQ(n.ops(), Ops{kConv});
}

TEST(FoldScaleShift, LeavesWhatComesAfterAClamp) {
  Network n;
  const Tensor conv = n.conv(n.input({1, 4, 4, 3}), 4, 1, true);
  n.graph.table.operators.back()->params.AsConv2d()->output_min = 0;
  n.output(conv * n.constant({4}, 6));
  n.expect_same_after(fold_scale_shift);
  EXPECT_EQ(n.ops(), (Ops{kConv, kBinary}));
}

TEST(FoldScaleShift, LeavesFactorsThatAreNotPerChannel) {
  Network n;
  n.output(n.conv(n.input({1, 4, 4, 3}), 4, 1, true) * n.constant({1, 4, 4, 1}, 6));
  n.expect_same_after(fold_scale_shift);
  EXPECT_EQ(n.ops(), (Ops{kConv, kBinary}));
}

TEST(FoldScaleShift, LeavesAValueThatOthersRead) {
  Network n;
  const Tensor conv = n.conv(n.input({1, 4, 4, 3}), 4, 1, true);
  n.output(conv * n.constant({4}, 6) + conv);
  n.expect_same_after(fold_scale_shift);
  EXPECT_EQ(n.ops(), (Ops{kConv, kBinary, kBinary}));
}

TEST(FoldScaleShift, AWeightThatTwoConvolutionsShareIsScaledForOneOnly) {
  Network n;
  const Tensor x = n.input({1, 4, 4, 3}), weight = n.constant({3, 1, 1, 3}, 1);
  const Tensor first = n.graph.add_op("a", fbs::Conv2dT{}, {x, weight}) * n.constant({3}, 6);
  n.output(n.graph.add_op("b", fbs::Conv2dT{}, {first, weight}));
  n.expect_same_after(fold_scale_shift);
  EXPECT_EQ(n.ops(), (Ops{kConv, kConv}));
}

TEST(FuseActivation, AClampIsFusedIntoItsProducer) {
  Network conv;
  conv.output(relu6(conv.conv(conv.input({1, 4, 4, 3}), 4, 1, true)));
  conv.expect_same_after(fuse_activation);
  EXPECT_EQ(conv.ops(), Ops{kConv});
  Network linear;
  linear.output(relu(linear.linear(linear.input({2, 6}), 5)));
  linear.expect_same_after(fuse_activation);
  EXPECT_EQ(linear.ops(), Ops{kLinear});
  Network sum;
  const Tensor x = sum.input({1, 4, 4, 3});
  sum.output(relu(x + sigmoid(x)));
  sum.expect_same_after(fuse_activation);
  EXPECT_EQ(sum.ops(), (Ops{kUnary, kBinary}));
}

TEST(FuseActivation, TwoClampsBecomeOne) {
  const float ranges[][4] = {{-0.5f, 0.5f, 0, 6}, {0, 6, -0.5f, 0.5f}, {-1, 1, -0.25f, 0.25f}};
  for (const auto& r : ranges) {
    Network n;
    n.output(clamp(clamp(n.conv(n.input({1, 4, 4, 3}), 4, 1, true), r[0], r[1]), r[2], r[3]));
    n.expect_same_after(fuse_activation);
    EXPECT_EQ(n.ops(), Ops{kConv});
  }
}

TEST(FuseActivation, ClampsWhoseRangesDoNotMeetStay) {
  Network n;
  n.output(clamp(clamp(n.conv(n.input({1, 4, 4, 3}), 4, 1, true), 0, 1), 2, 3));
  n.expect_same_after(fuse_activation);
  EXPECT_EQ(n.ops(), (Ops{kConv, kUnary}));
}

TEST(FuseActivation, OtherActivationsStay) {
  Network n;
  n.output(sigmoid(n.conv(n.input({1, 4, 4, 3}), 4, 1, true)));
  n.expect_same_after(fuse_activation);
  EXPECT_EQ(n.ops(), (Ops{kConv, kUnary}));
}

TEST(FoldPadding, ZerosJoinTheConvolution) {
  Network n;
  n.output(n.conv(pad2d(n.input({1, 5, 5, 3}), 0, 1, 2, 3), 4, 3, true));
  n.expect_same_after(fold_padding);
  EXPECT_EQ(n.ops(), Ops{kConv});
}

TEST(FoldPadding, OtherValuesStayBeforeTheConvolution) {
  Network n;
  n.output(n.conv(pad2d(n.input({1, 5, 5, 3}), 1, 1, 1, 1, 0.5f), 4, 3, true));
  n.expect_same_after(fold_padding);
  EXPECT_EQ(n.ops(), (Ops{kPad, kConv}));
}

TEST(FoldPadding, ZerosStayBeforeAMaximumAndInfinityJoinsIt) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const float value : {0.0f, -kInfinity}) {
    Network n;
    n.output(max_pool2d(pad2d(n.input({1, 6, 6, 3}), 1, 1, 1, 1, value), {.kernel = 3, .stride = 2}));
    n.expect_same_after(fold_padding);
    EXPECT_EQ(n.ops(), value == 0 ? (Ops{kPad, kPool}) : Ops{kPool});
  }
}

TEST(FoldPadding, ZerosInAMeanAreCounted) {
  for (const bool counted : {true, false}) {
    Network n;
    n.output(avg_pool2d(pad2d(n.input({1, 6, 6, 3}), 1, 1, 1, 1), {.kernel = 3, .count_include_pad = counted}));
    n.expect_same_after(fold_padding);
    EXPECT_EQ(n.ops(), Ops{kPool});
  }
  // The pool ignores its own padding but not the zeros before it: the two cannot be merged.
  Network mixed;
  mixed.output(avg_pool2d(pad2d(mixed.input({1, 6, 6, 3}), 1, 1, 1, 1),
                          {.kernel = 3, .padding = 1, .count_include_pad = false}));
  mixed.expect_same_after(fold_padding);
  EXPECT_EQ(mixed.ops(), (Ops{kPad, kPool}));
}

TEST(AbsorbFlatten, TheLinearsColumnsMoveInsteadOfTheMap) {
  Network n;
  n.output(n.linear(flatten(n.input({1, 2, 3, 4})), 5));
  n.expect_same_after(absorb_flatten);
  EXPECT_EQ(n.ops(), (Ops{kReshape, kLinear}));
}

TEST(AbsorbFlatten, ATappedFlattenStays) {
  Network n;
  const Tensor flat = flatten(n.input({1, 2, 3, 4}));
  n.tap("flat", flat, true);
  n.output(n.linear(flat, 5));
  n.expect_same_after(absorb_flatten);
  EXPECT_EQ(n.ops(), (Ops{kTranspose, kReshape, kLinear}));
}

TEST(AbsorbPixelShuffle, TheConvolutionsChannelsMoveInsteadOfTheMap) {
  for (const bool bias : {false, true}) {
    Network n;
    n.output(pixel_shuffle(n.conv(n.input({1, 4, 4, 3}), 12, 3, bias), 2));
    n.expect_same_after(absorb_pixel_shuffle);
    EXPECT_EQ(n.ops(), (Ops{kConv, kShuffle}));
  }
}

TEST(AbsorbPixelShuffle, ATappedConvolutionStays) {
  Network n;
  const Tensor conv = n.conv(n.input({1, 4, 4, 3}), 12, 3, true);
  n.tap("conv", conv);
  n.output(pixel_shuffle(conv, 2));
  n.expect_same_after(absorb_pixel_shuffle, {.keep_taps = true});
  EXPECT_EQ(n.ops(), (Ops{kConv, kReshape, kTranspose, kReshape, kShuffle}));
}

TEST(AbsorbTranspose, AProductReadsATransposedInput) {
  Network n;
  const Tensor x = n.input({2, 3, 4, 5});
  n.output(matmul(transpose(x, {0, 1, 3, 2}), transpose(n.linear(x, 4), {0, 1, 3, 2}), false, true));
  n.expect_same_after(absorb_transpose);
  EXPECT_EQ(n.ops(), (Ops{kLinear, fbs::OpParams::MatMul}));
}

TEST(AbsorbTranspose, OtherOrdersStay) {
  Network n;
  const Tensor x = n.input({2, 3, 4, 5});
  n.output(matmul(transpose(x, {0, 2, 1, 3}), transpose(x, {0, 2, 3, 1})));
  n.expect_same_after(absorb_transpose);
  EXPECT_EQ(n.ops(), (Ops{kTranspose, kTranspose, fbs::OpParams::MatMul}));
}

TEST(RemoveDeadCode, DropsUnusedOperators) {
  Network n;
  const Tensor x = n.input({1, 4, 4, 3});
  n.conv(sigmoid(x), 4, 1, true);
  n.output(relu(x));
  n.expect_same_after(remove_dead_code);
  EXPECT_EQ(n.ops(), Ops{kUnary});
  EXPECT_EQ(n.graph.table.tensors.size(), 2u);
}

// conv (tapped) -> scale -> relu (tapped) -> conv (block) -> output
void build_tapped(Network* n) {
  const Tensor conv1 = n->conv(n->input({1, 4, 4, 3}), 3, 1, true);
  n->tap("conv1", conv1);
  const Tensor act = relu(conv1 * n->constant({3}, 6));
  n->tap("act", act);
  const Tensor conv2 = n->conv(act, 3, 1, true);
  n->tap("block", conv2, true);
  n->output(relu(conv2));
}

TEST(Passes, AReleaseBlobKeepsBlocksAndTheTapsThatSurvive) {
  Network n;
  build_tapped(&n);
  n.expect_same_after(run_passes);
  EXPECT_EQ(n.ops(), (Ops{kConv, kConv, kUnary}));
  EXPECT_EQ(n.taps(), (std::vector<std::string>{"act", "block"}));
}

TEST(Passes, WithKeepTapsEveryTapSurvives) {
  Network n;
  build_tapped(&n);
  n.expect_same_after(run_passes, {.keep_taps = true});
  EXPECT_EQ(n.ops(), (Ops{kConv, kBinary, kConv, kUnary}));
  EXPECT_EQ(n.taps(), (std::vector<std::string>{"conv1", "act", "block"}));
}

TEST(Passes, TapsHoldTheSameValuesBeforeAndAfter) {
  for (const bool keep_taps : {false, true}) {
    Network n;
    build_tapped(&n);
    const auto values = [&] {
      const Shape shape{1, 4, 4, 3};
      const auto all = reference::interpret(n.graph, {Array{shape, noise(shape.elements(), 5)}});
      std::map<std::string, std::vector<double>> taps;
      for (const auto& tap : n.graph.table.taps) taps[tap->name] = all.at(tap->tensor).values;
      return taps;
    };
    const auto before = values();
    run_passes(n.graph, {.keep_taps = keep_taps});
    for (const auto& [name, after] : values())
      for (size_t i = 0; i < after.size(); ++i) EXPECT_NEAR(after[i], before.at(name)[i], 1e-13) << name;
  }
}

}  // namespace
}  // namespace ferry
