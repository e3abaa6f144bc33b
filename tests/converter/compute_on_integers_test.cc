// Operators between conversions move onto Int8; their values stay within a step of what the conversions would give.
#include "converter/quantize/compute_on_integers.h"

#include "converter/graph/elementary.h"
#include "converter/quantize/weights.h"
#include "tests/converter/pass_network.h"

namespace ferry::int8 {
namespace {

using fbs::OpParams;

// ---- integers of a weight

TEST(RecoveredIntegers, AreThoseThatTheScalesMultiplied) {
  std::vector<double> values;
  const std::vector<float> scales = {0.0123f, 3.7e-5f, 411.0f};
  std::vector<int8_t> integers = {127, -3, 0, 55, 2, -126, -9, 3, 0, 0, 0, 8};
  for (size_t i = 0; i < integers.size(); ++i)
    values.push_back(static_cast<double>(static_cast<float>(integers[i]) * scales[i / 4]));
  const auto weight = recover_integers(values, 3, {});
  ASSERT_TRUE(weight);
  for (size_t i = 0; i < values.size(); ++i)
    EXPECT_NEAR(weight->real(i / 4, i % 4), values[i], 1e-6 * std::fabs(values[i])) << i;
  EXPECT_EQ(std::vector<int8_t>(weight->integers.begin(), weight->integers.begin() + 8),
            std::vector<int8_t>(integers.begin(), integers.begin() + 8));
  EXPECT_EQ(weight->rounded, 0u);
}

TEST(RecoveredIntegers, AreMissingFromOtherWeights) {
  EXPECT_FALSE(recover_integers(ferry::noise(64, 1), 2, {}));
  EXPECT_FALSE(recover_integers(std::vector<double>{1, NAN}, 1, {}));
  EXPECT_FALSE(recover_integers(std::vector<double>{1, 256}, 1, {}));  // more than 255 steps
  EXPECT_FALSE(recover_integers(std::vector<double>{1, 2}, 1, {INFINITY}));
  EXPECT_TRUE(recover_integers(std::vector<double>{0, 0}, 1, {0}));
}

TEST(RecoveredIntegers, BeyondSignedBytesHaveAZeroPoint) {
  std::vector<double> values;
  for (int i = 0; i < 200; ++i) values.push_back(0.5 * (i - 70));
  values.insert(values.end(), {0.25 * -125, 0.25 * 3, 0.25});
  values.resize(400);
  const auto weight = recover_integers(values, 2, {});
  ASSERT_TRUE(weight);
  EXPECT_NE(weight->zero_point, 0);
  EXPECT_EQ(weight->rounded, 0u);
  for (size_t i = 0; i < values.size(); ++i) EXPECT_EQ(weight->real(i / 200, i % 200), values[i]) << i;
}

// No zero point serves both channels. One with an outlier is clipped, one with many gets a larger scale.
TEST(RecoveredIntegers, WithoutACommonZeroPointAreRounded) {
  std::vector<double> values;
  for (int i = 0; i < 200; ++i) values.push_back(1 + i % 120);
  values[0] = 128;
  values.resize(400, -200);
  values[399] = -3;
  const auto weight = recover_integers(values, 2, {});
  ASSERT_TRUE(weight);
  EXPECT_EQ(weight->zero_point, 0);
  EXPECT_EQ(weight->integers[0], 127);
  EXPECT_EQ(weight->scales[0], 1);
  EXPECT_NEAR(static_cast<double>(weight->scales[1]), 200.0 / 127, 1e-6);
  EXPECT_EQ(weight->integers[200], -127);
  EXPECT_EQ(weight->rounded, 2u);
}

// ---- graphs

constexpr float kStep = 1.0f / 64;

struct IntegerNetwork : Network {
  Tensor rounded(Tensor x, float scale = kStep, int zero = 3) { return quantize_dequantize(x, scale, zero); }
  // A weight of integers, whole multiples of 1/128.
  Tensor weight(const Shape& shape) {
    std::vector<double> values = ferry::noise(shape.elements(), 1);
    for (double& v : values) v = std::nearbyint(127 * v) / 128;
    return graph.add_constant("w", shape, std::move(values));
  }
  Tensor conv_on(Tensor x, int out) {
    return graph.add_op("conv", fbs::Conv2dT{}, {x, weight({out, 1, 1, channels(x)})});
  }
  size_t count(bool integers) const {
    size_t n = 0;
    for (const auto& op : graph.table.operators)
      if (op->params.type != OpParams::Requantize)
        n += (graph.at(op->inputs.front()).dtype == fbs::DType::Int8) == integers ? 1 : 0;
    return n;
  }
  size_t conversions() const {
    const auto types = ops();
    return static_cast<size_t>(std::count(types.begin(), types.end(), OpParams::Requantize));
  }
  // Moves it onto integers; results stay within `steps`.
  void lower(size_t integers, size_t floats, size_t converted, double steps = 1, const PassOptions& options = {}) {
    const std::vector<double> before = run();
    compute_on_integers(graph, options);
    const std::vector<double> after = run();
    ASSERT_EQ(after.size(), before.size());
    for (size_t i = 0; i < after.size(); ++i)
      EXPECT_NEAR(after[i], before[i], 1.001 * steps * static_cast<double>(kStep)) << i;
    EXPECT_EQ(count(true), integers);
    EXPECT_EQ(count(false), floats);
    EXPECT_EQ(conversions(), converted);
  }
};

TEST(ComputeOnIntegers, AConvolutionBetweenConversions) {
  IntegerNetwork net;
  net.output(net.rounded(net.conv_on(net.rounded(net.input({1, 4, 4, 8})), 6)));
  net.lower(1, 0, 2);
}

TEST(ComputeOnIntegers, NotOfAWeightOfFloats) {
  IntegerNetwork net;
  net.output(net.rounded(net.conv(net.rounded(net.input({1, 4, 4, 8})), 6, 1, true)));
  net.lower(0, 1, 4, 0);
}

// A float operator needs the value before it is rounded.
TEST(ComputeOnIntegers, NotOfAValueThatFloatsRead) {
  IntegerNetwork net;
  const Tensor y = net.conv_on(net.rounded(net.input({1, 4, 4, 8})), 6);
  net.output(net.rounded(y) + ferry::tanh(y));
  net.lower(0, 3, 4, 0);
}

TEST(ComputeOnIntegers, MoversWithoutConversionsOfTheirOwn) {
  IntegerNetwork net;
  const Tensor x = net.rounded(net.input({1, 4, 4, 8}));
  const Tensor moved = reshape(transpose(max_pool2d(x, {.kernel = 2, .stride = 2}), {0, 2, 1, 3}), {1, 1, 4, 8});
  net.output(net.rounded(net.conv_on(moved, 6)));
  net.lower(4, 0, 2);
}

// Parts of another scale are rounded to the result's.
TEST(ComputeOnIntegers, AConcatenationOfDifferentScales) {
  IntegerNetwork net;
  const Tensor x = net.input({1, 4, 4, 8});
  net.output(net.rounded(concat({net.rounded(x), net.rounded(x * 0.5, kStep / 2, -5)})));
  net.lower(1, 1, 4);
}

TEST(ComputeOnIntegers, FunctionsOfOneValueAsTables) {
  IntegerNetwork net;
  net.output(net.rounded(sigmoid(net.rounded(net.input({1, 4, 4, 8})))));
  net.lower(1, 0, 2, 0);
  EXPECT_EQ(net.ops()[1], OpParams::Lookup);
}

TEST(ComputeOnIntegers, SlopesBelowZero) {
  IntegerNetwork net;
  const Tensor slopes = net.graph.add_constant("slopes", Shape{8}, std::vector<double>{0.5, -1, 0.25, 0, 2, 1, 1.5, 4});
  net.output(net.rounded(binary(fbs::BinaryKind::PRelu, net.rounded(net.input({1, 4, 4, 8})), slopes)));
  net.lower(4, 0, 2, 0);
}

// Kernels that overlap and that do not, cropped and extended outputs: by a convolution and a pixel shuffle.
TEST(ComputeOnIntegers, TransposedConvolutions) {
  for (const auto& [kernel, stride, pad, extra] :
       {std::tuple<int, int, int, int>{2, 2, 0, 0}, {3, 2, 1, 1}, {4, 2, 1, 0}, {5, 2, 2, 1}, {3, 3, 0, 0}}) {
    IntegerNetwork net;
    fbs::ConvTranspose2dT params;
    params.stride_h = params.stride_w = stride;
    params.pad_top = params.pad_left = params.pad_bottom = params.pad_right = pad;
    params.output_padding_h = params.output_padding_w = extra;
    const Tensor x = net.rounded(net.input({1, 4, 5, 8}));
    net.output(net.rounded(net.graph.add_op("up", params, {x, net.weight({3, kernel, kernel, 8})})));
    const bool crops = pad % stride != 0;
    net.lower(crops ? 3 : 2, 0, 2);
  }
}

TEST(ComputeOnIntegers, SumsAndProductsWithConstants) {
  IntegerNetwork net;
  const Tensor x = net.rounded(net.input({1, 4, 4, 8}));
  const Tensor factors = net.graph.add_constant("c", Shape{8}, std::vector<double>{0.5, -1, 1.5, 0, 2, 100, 3.5, 4});
  net.output(net.rounded(net.rounded(x + x) * factors, kStep, 0));
  net.lower(2, 0, 2);
}

TEST(ComputeOnIntegers, AnOutputBeforeRoundingStaysAsItIs) {
  IntegerNetwork net;
  const Tensor y = net.conv_on(net.rounded(net.input({1, 4, 4, 8})), 6);
  net.output(y);
  net.graph.add_output("rounded", net.rounded(y), fbs::Layout::Same);
  net.lower(0, 1, 4, 0);
}

TEST(ComputeOnIntegers, TapsOfRoundedValuesStay) {
  IntegerNetwork net;
  const Tensor x = net.rounded(net.input({1, 4, 4, 8}));
  const Tensor y = net.conv_on(x, 6);
  net.tap("exact", y);
  const Tensor z = net.rounded(y);
  net.tap("rounded", z);
  net.output(net.rounded(net.conv_on(z, 4)));
  net.lower(2, 0, 3, 1, {.keep_taps = true});
  EXPECT_EQ(net.taps(), (std::vector<std::string>{"rounded"}));
}

TEST(ComputeOnIntegers, ATappedBlockBeforeRoundingStaysAsItIs) {
  IntegerNetwork net;
  const Tensor y = net.conv_on(net.rounded(net.input({1, 4, 4, 8})), 6);
  net.tap("block", y, kBlock);
  net.output(net.rounded(y));
  net.lower(0, 1, 4, 0);
}

}  // namespace
}  // namespace ferry::int8
