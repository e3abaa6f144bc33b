#include "converter/graph/ops.h"

#include <gtest/gtest.h>

#include "converter/reference/interpreter.h"
#include "tests/converter/memory_checkpoint.h"

namespace ferry {
namespace {

using reference::Array;

struct OpsFixture {
  std::shared_ptr<MemoryCheckpoint> file = std::make_shared<MemoryCheckpoint>();
  Naming naming{.framework = "timm"};
  Graph graph;
  Ledger ledger{file, naming};
  Weights w{graph, ledger};

  Tensor input(const Shape& shape) { return graph.add_input("input", shape, fbs::Layout::NCHW); }
  std::vector<double> run(Tensor output, std::vector<double> input) {
    const Shape shape = graph.shape(graph.table.inputs.front()->tensor);
    return reference::interpret(graph, {Array{shape, std::move(input)}}).at(output.id).values;
  }
  std::vector<std::string> taps() const {
    std::vector<std::string> names;
    for (const auto& tap : graph.table.taps) names.push_back(tap->name);
    return names;
  }
};

TEST(Builder, BatchNormUsesTheStatisticsOfTraining) {
  OpsFixture f;
  f.file->add("bn.weight", {2}, std::vector<float>{2, -1});
  f.file->add("bn.bias", {2}, std::vector<float>{0.5f, 1});
  f.file->add("bn.running_mean", {2}, std::vector<float>{1, 3});
  f.file->add("bn.running_var", {2}, std::vector<float>{3, 0.25f});
  const Tensor y = batch_norm(f.input({1, 1, 1, 2}), f.w["bn"], 1.0);
  const std::vector<double> values = f.run(y, {5, 7});
  EXPECT_DOUBLE_EQ(values[0], 2 * (5 - 1) / 2.0 + 0.5);
  EXPECT_NEAR(values[1], -1 * (7 - 3) / std::sqrt(1.25) + 1, 1e-15);
  EXPECT_EQ(f.taps(), std::vector<std::string>{"bn"});
}

TEST(Builder, BatchNormAndActivationAreTappedAfterTheActivation) {
  OpsFixture f;
  for (const char* leaf : {"weight", "bias", "running_mean"}) f.file->add(std::string("bn.") + leaf, {1});
  f.file->add("bn.running_var", {1}, std::vector<float>{1});
  const Tensor y = batch_norm_act(f.input({1, 1, 1, 1}), f.w["bn"], relu6);
  for (const auto& tap : f.graph.table.taps) EXPECT_EQ(tap->tensor, y.id) << tap->name;
  EXPECT_EQ(f.taps(), (std::vector<std::string>{"bn.act", "bn"}));
}

TEST(Builder, AVarianceMustBePositive) {
  OpsFixture f;
  for (const char* leaf : {"weight", "bias", "running_mean"}) f.file->add(std::string("bn.") + leaf, {1});
  f.file->add("bn.running_var", {1}, std::vector<float>{-2});
  EXPECT_EQ(complaint([&] {
              batch_norm(f.input({1, 1, 1, 1}), f.w["bn"]);
            }),
            "'bn.running_var'[0] is -2: a variance must be positive");
}

TEST(Builder, FlattenCountsChannelsFirst) {
  OpsFixture f;
  const Tensor y = flatten(f.input({1, 2, 1, 3}));  // pixels (0,1,2) and (3,4,5)
  EXPECT_EQ(f.run(y, {0, 1, 2, 3, 4, 5}), (std::vector<double>{0, 3, 1, 4, 2, 5}));
}

TEST(Builder, FlattenOfOnePixelMovesNothing) {
  OpsFixture f;
  flatten(global_avg_pool(f.input({1, 2, 2, 3})));
  EXPECT_EQ(f.graph.table.operators.size(), 2u);
}

TEST(Builder, PixelShuffleTakesPyTorchsChannelOrder) {
  OpsFixture f;
  // Channels of torch.nn.PixelShuffle(2): colour 0 at the cell's four positions, then colour 1.
  const Tensor y = pixel_shuffle(f.input({1, 1, 1, 8}), 2);
  EXPECT_EQ(y.shape(), (Shape{1, 2, 2, 2}));
  EXPECT_EQ(f.run(y, {0, 1, 2, 3, 10, 11, 12, 13}), (std::vector<double>{0, 10, 1, 11, 2, 12, 3, 13}));
}

TEST(Builder, AValueMayHaveSeveralNamesButANameOneValue) {
  OpsFixture f;
  const Tensor x = f.input({1, 1, 1, 1});
  const Tensor y = tap(tap(relu(x), f.w["act"]), f.w["block"], kBlock);
  tap(y, f.w["act"]);
  EXPECT_EQ(f.taps(), (std::vector<std::string>{"act", "block"}));
  EXPECT_EQ(complaint([&] { tap(x, f.w["act"]); }), "two values are tapped as 'act'");
}

TEST(Builder, ChannelsLastMapsAreTappedUnchanged) {
  OpsFixture f;
  const Tensor x = f.input({1, 2, 3, 4});
  tap(x, f.w["stages"]);
  tap(x, f.w["stages"].channels_last()["blocks"][0]);
  EXPECT_EQ(f.graph.table.taps[0]->source_layout, fbs::Layout::NCHW);
  EXPECT_EQ(f.graph.table.taps[1]->source_layout, fbs::Layout::Same);
  EXPECT_EQ(f.taps(), (std::vector<std::string>{"stages", "stages.blocks.0"}));
}

TEST(Builder, ConvolutionChecksTheSizesThatTheFamilyStates) {
  OpsFixture f;
  f.file->add("conv.weight", {8, 3, 3, 3});
  const Tensor x = f.input({1, 8, 8, 3});
  EXPECT_EQ(complaint([&] { conv2d(x, f.w["conv"], {.out = 16, .kernel = 3, .bias = false}); }),
            "'conv.weight' has shape [8,3,3,3], but module 'conv' needs [16,3,3,3]");
  EXPECT_EQ(conv2d(x, f.w["conv"], {.out = 8, .kernel = 3, .bias = false}).shape(), (Shape{1, 6, 6, 8}));
}

TEST(Builder, RectangularKernelsHaveRectangularPadding) {
  OpsFixture f;
  f.file->add("wide.weight", {8, 3, 1, 7});
  const Tensor x = f.input({1, 8, 9, 3});
  EXPECT_EQ(conv2d(x, f.w["wide"], {.out = 8, .padding_w = 3, .bias = false}).shape(), (Shape{1, 8, 9, 8}));
}

// PyTorch's result, with weights in its order I,O/groups,KH,KW.
TEST(Builder, TransposedConvolutionMatchesPyTorch) {
  struct Case {
    int in, out, kernel, stride, padding, output_padding, dilation, groups, height, width;
    std::vector<double> output;
  };
  const Case cases[] = {
#include "tests/converter/conv_transpose2d_fixture.inc"
  };
  const auto values = [](int count, int seed) {
    std::vector<float> list;
    for (int i = 0; i < count; ++i) list.push_back(static_cast<float>((i * 37 + seed) % 19 - 9) / 8);
    return list;
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.groups);
    OpsFixture f;
    const int outputs = c.out / c.groups;
    f.file->add("up.weight", {c.in, outputs, c.kernel, c.kernel}, values(c.in * outputs * c.kernel * c.kernel, 1));
    f.file->add("up.bias", {c.out}, values(c.out, 2));
    const std::vector<float> planes = values(c.in * c.height * c.width, 3);
    std::vector<double> pixels;
    for (int p = 0; p < c.height * c.width; ++p)
      for (int i = 0; i < c.in; ++i) pixels.push_back(planes[static_cast<size_t>(i * c.height * c.width + p)]);

    const Tensor y = conv_transpose2d(f.input({1, c.height, c.width, c.in}), f.w["up"],
                                      {.out = c.out,
                                       .kernel = c.kernel,
                                       .stride = c.stride,
                                       .padding = c.padding,
                                       .output_padding = c.output_padding,
                                       .dilation = c.dilation,
                                       .groups = c.groups});
    f.ledger.finish();
    const std::vector<double> got = f.run(y, pixels);
    const Shape shape = y.shape();
    ASSERT_EQ(got.size(), c.output.size());
    const int places = shape[1] * shape[2];
    for (int p = 0; p < places; ++p)
      for (int o = 0; o < c.out; ++o)
        EXPECT_EQ(got[static_cast<size_t>(p * c.out + o)], c.output[static_cast<size_t>(o * places + p)])
            << "place " << p << ", channel " << o;
    EXPECT_EQ(f.taps(), std::vector<std::string>{"up"});
  }
}

// Keras stores Conv2DTranspose's kernel as KH,KW,O,I.
TEST(Builder, TransposedConvolutionTakesKerassOrder) {
  OpsFixture f;
  f.naming.layout = WeightLayout::Keras;
  f.file->add("up/kernel", {1, 2, 2, 1}, std::vector<float>{1, 2, 3, 4});  // two columns, two outputs
  const Tensor y = conv_transpose2d(f.input({1, 1, 1, 1}), f.w["up"], {.out = 2, .bias = false});
  EXPECT_EQ(y.shape(), (Shape{1, 1, 2, 2}));
  EXPECT_EQ(f.run(y, {10}), (std::vector<double>{10, 20, 30, 40}));
}

TEST(Builder, TransposedConvolutionChecksTheSizesThatTheFamilyStates) {
  OpsFixture f;
  f.file->add("up.weight", {4, 3, 2, 2});
  const Tensor x = f.input({1, 8, 8, 4});
  EXPECT_EQ(complaint([&] { conv_transpose2d(x, f.w["up"], {.out = 8, .kernel = 2, .groups = 2, .bias = false}); }),
            "'up.weight' has shape [4,3,2,2], but module 'up' needs [4,4,2,2]");
}

TEST(Builder, ADeclaredBiasMustExist) {
  OpsFixture f;
  f.file->add("conv.weight", {8, 3, 3, 3});
  EXPECT_EQ(complaint([&] {
              conv2d(f.input({1, 8, 8, 3}), f.w["conv"]);
            }),
            "the checkpoint has no 'conv.bias', which module 'conv' needs");
}

// timm's adapt_input_conv: expected values follow from its definition for a 1x1 kernel.
struct Adaptation {
  std::vector<double> weight;
  int in_chans;
  std::vector<double> expected;
};

TEST(StandardizeWeight, GivesEachOutputChannelMean0AndPopulationVariance1) {
  Graph graph;
  const Tensor weight = graph.add_constant("w", Shape{2, 1, 2, 2}, std::vector<double>{1, 3, 5, 7, 2, 2, 2, 2});
  const std::vector<double> got = graph.values(standardize_weight(weight, 4).id);
  const double s = 3;  // variance 5, epsilon 4
  const std::vector<double> expected = {-3 / s, -1 / s, 1 / s, 3 / s, 0, 0, 0, 0};
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-15) << i;
}

TEST(Builder, GroupNormAndActivationAreOneModule) {
  OpsFixture f;
  f.file->add("norm.weight", {4}, std::vector<float>{1, 1, 1, 1});
  f.file->add("norm.bias", {4}, std::vector<float>{0, 0, 0, 0});
  const Tensor y = group_norm_act(f.input({1, 1, 1, 4}), f.w["norm"], relu, 2, 3);
  EXPECT_EQ(f.run(y, {1, 3, -5, -5}), (std::vector<double>{0, 0.5, 0, 0}));  // variance 1, epsilon 3
  EXPECT_EQ(f.taps(), (std::vector<std::string>{"norm.act", "norm"}));
}

TEST(AdaptInputChannels, FollowsTimmsRule) {
  const Adaptation cases[] = {
      {{1, 2, 4}, 1, {7}},                                                         // the sum
      {{1, 2}, 1, {3}},                                                            //
      {{1, 2, 4, 8, 16, 32}, 1, {7, 56}},                                          // by threes
      {{1, 2, 4}, 2, {1.5, 3}},                                                    // cut, times 3/2
      {{1, 2, 4}, 4, {0.75, 1.5, 3, 0.75}},                                        // repeated, times 3/4
      {{1, 2, 4}, 7, {3 / 7., 6 / 7., 12 / 7., 3 / 7., 6 / 7., 12 / 7., 3 / 7.}},  //
  };
  for (const Adaptation& c : cases) {
    Graph graph;
    const Tensor weight = graph.add_constant("w", Shape{1, 1, 1, static_cast<int>(c.weight.size())}, c.weight);
    const std::vector<double> adapted = graph.values(adapt_input_channels(weight, c.in_chans).id);
    ASSERT_EQ(adapted.size(), c.expected.size());
    for (size_t i = 0; i < adapted.size(); ++i) EXPECT_NEAR(adapted[i], c.expected[i], 1e-15) << c.in_chans << " " << i;
  }
}

TEST(AdaptInputChannels, RefusesOtherShapes) {
  Graph graph;
  const Tensor five = graph.add_constant("conv1.weight", Shape{1, 1, 1, 5}, std::vector<double>(5, 1.0));
  EXPECT_EQ(complaint([&] { adapt_input_channels(five, 1); }),
            "'conv1.weight' has 5 input channels: no rule adapts them to 1 (--in-chans 5 keeps them)");
  EXPECT_NE(complaint([&] { adapt_input_channels(five, 4); }), "no error");
}

TEST(AdaptInputChannels, KeepsAWeightThatFits) {
  OpsFixture f;
  f.file->add("conv.weight", {2, 5, 1, 1});
  conv2d(f.input({1, 4, 4, 5}), f.w["conv"], {.bias = false, .adapt_input = true});
  EXPECT_EQ(f.graph.values(f.graph.table.operators.front()->inputs[1]),
            f.file->tensors().at("conv.weight").to_doubles());
}

// A map that one window covers along only one axis is rolled along the other.
TEST(Windows, RollEachAxisByItself) {
  OpsFixture f;
  const Tensor windows = window_partition(f.input({1, 4, 8, 3}), 4, 0, 2);
  EXPECT_EQ(windows.shape(), (Shape{2, 16, 3}));
  EXPECT_EQ(window_reverse(windows, 4, 0, 2, 4, 8).shape(), (Shape{1, 4, 8, 3}));
  const auto& ops = f.graph.table.operators;
  EXPECT_EQ(ops[0]->params.AsWindowPartition()->shift_h, 0);
  EXPECT_EQ(ops[0]->params.AsWindowPartition()->shift_w, 2);
  EXPECT_EQ(ops[1]->params.AsWindowReverse()->shift_h, 0);
  EXPECT_EQ(ops[1]->params.AsWindowReverse()->shift_w, 2);
}

}  // namespace
}  // namespace ferry
