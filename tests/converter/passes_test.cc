#include "converter/passes/passes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "converter/graph/ops.h"
#include "converter/reference/interpreter.h"

namespace ferry {
namespace {

using reference::Array;
using Pass = void (*)(Graph&, const PassOptions&);

std::vector<double> noise(int64_t count, double seed) {
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(std::sin(seed + 1.7 * static_cast<double>(i)));
  return values;
}

// A graph with one input and one output, and its parts by short names.
struct Network {
  Graph graph;

  Tensor input(const Shape& shape) { return graph.add_input("input", shape, fbs::Layout::NCHW); }
  Tensor constant(const Shape& shape, double seed) {
    return graph.add_constant("c", shape, noise(shape.elements(), seed));
  }
  Tensor conv(Tensor x, int out, int kernel, bool bias, int groups = 1) {
    fbs::Conv2dT params;
    params.groups = groups;
    std::vector<Tensor> inputs = {x, constant({out, kernel, kernel, channels(x) / groups}, 1)};
    if (bias) inputs.push_back(constant({out}, 2));
    return graph.add_op("conv", params, inputs);
  }
  Tensor linear(Tensor x, int out) {
    return graph.add_op("linear", fbs::LinearT{}, {x, constant({out, channels(x)}, 3), constant({out}, 4)});
  }
  void output(Tensor y) { graph.add_output("output", y, fbs::Layout::Same); }
  void tap(const char* name, Tensor y, bool block = false) { graph.add_tap(name, y, fbs::Layout::Same, block); }

  std::vector<double> run() const {
    const Shape shape = graph.shape(static_cast<int>(graph.model.inputs.front()->tensor));
    const auto values = reference::interpret(graph, {Array{shape, noise(shape.elements(), 5)}});
    return values.at(static_cast<int>(graph.model.outputs.front()->tensor)).values;
  }
  std::vector<fbs::OpParams> ops() const {
    std::vector<fbs::OpParams> types;
    for (const auto& op : graph.model.operators) types.push_back(op->params.type);
    return types;
  }
  std::vector<std::string> taps() const {
    std::vector<std::string> names;
    for (const auto& tap : graph.model.taps) names.push_back(tap->name);
    return names;
  }

  // Runs the pass and the removal of what it leaves over; outputs must be what they were, but for rounding in double.
  void expect_same_after(Pass pass, const PassOptions& options = {}) {
    const std::vector<double> before = run();
    pass(graph, options);
    remove_dead_code(graph, options);
    const std::vector<double> after = run();
    ASSERT_EQ(before.size(), after.size());
    double largest = 0;
    for (double v : before) largest = std::max(largest, std::abs(v));
    ASSERT_GT(largest, 0);
    for (size_t i = 0; i < after.size(); ++i) EXPECT_NEAR(after[i], before[i], 1e-13 * largest) << i;
  }
};

using Ops = std::vector<fbs::OpParams>;
constexpr auto kConv = fbs::OpParams::Conv2d;
constexpr auto kConvTranspose = fbs::OpParams::ConvTranspose2d;
constexpr auto kLinear = fbs::OpParams::Linear;
constexpr auto kBinary = fbs::OpParams::Binary;
constexpr auto kUnary = fbs::OpParams::Unary;
constexpr auto kPad = fbs::OpParams::Pad;
constexpr auto kPool = fbs::OpParams::Pool2d;
constexpr auto kReshape = fbs::OpParams::Reshape;
constexpr auto kTranspose = fbs::OpParams::Transpose;
constexpr auto kShuffle = fbs::OpParams::PixelShuffle;

TEST(FoldConstants, ComputesWhatDependsOnConstantsOnly) {
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
      // c / x is no affine map.
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
  n.graph.model.operators.back()->params.AsConv2d()->output_min = 0;
  n.output(conv * n.constant({4}, 6));
  n.expect_same_after(fold_scale_shift);
  EXPECT_EQ(n.ops(), (Ops{kConv, kBinary}));
}

TEST(FoldScaleShift, LeavesFactorsThatAreNotOneAChannel) {
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

TEST(FuseActivation, AClampJoinsWhatComputesItsInput) {
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
  // The pool's own zeros do not count, those before it do: they cannot be one padding.
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

TEST(AbsorbFlatten, AFlattenThatIsSeenStays) {
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

TEST(AbsorbPixelShuffle, AConvolutionThatIsSeenStays) {
  Network n;
  const Tensor conv = n.conv(n.input({1, 4, 4, 3}), 12, 3, true);
  n.tap("conv", conv);
  n.output(pixel_shuffle(conv, 2));
  n.expect_same_after(absorb_pixel_shuffle, {.keep_taps = true});
  EXPECT_EQ(n.ops(), (Ops{kConv, kReshape, kTranspose, kReshape, kShuffle}));
}

TEST(RemoveDeadCode, DropsWhatNobodySees) {
  Network n;
  const Tensor x = n.input({1, 4, 4, 3});
  n.conv(sigmoid(x), 4, 1, true);
  n.output(relu(x));
  n.expect_same_after(remove_dead_code);
  EXPECT_EQ(n.ops(), Ops{kUnary});
  EXPECT_EQ(n.graph.model.tensors.size(), 2u);
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
      for (const auto& tap : n.graph.model.taps) taps[tap->name] = all.at(static_cast<int>(tap->tensor)).values;
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
