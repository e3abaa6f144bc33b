// ferry quantise: the split, ranges, roundings, plans and the measured error.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "converter/graph/from_blob.h"
#include "converter/pack/pack.h"
#include "converter/quantize/calibration.h"
#include "converter/quantize/equalise.h"
#include "converter/quantize/rounding.h"
#include "converter/quantize/search.h"
#include "sdk/model/model.h"
#include "tests/converter/quantised_network.h"
#include "tests/support/scratch_folder.h"

namespace ferry::int8 {
namespace {

// ---- samples

std::vector<std::string> hashes(const Samples& samples) {
  std::vector<std::string> out;
  for (const Sample* sample : samples) out.push_back(sample->sha256);
  return out;
}

TEST(QuantiseSplit, DependsOnContentsOnly) {
  std::vector<Sample> samples = numbered(20);
  std::vector<std::string> notes;
  const Split before = split(samples, &notes);
  EXPECT_EQ(before.calibrate.size(), 12u);
  EXPECT_EQ(before.tune.size(), 4u);
  EXPECT_EQ(before.held_out.size(), 4u);
  const std::vector<std::string> held_out = hashes(before.held_out), tune = hashes(before.tune);
  std::reverse(samples.begin(), samples.end());
  for (size_t i = 0; i < samples.size(); ++i) samples[i].name = "renamed" + std::to_string(i);
  const Split after = split(samples, &notes);
  EXPECT_EQ(hashes(after.held_out), held_out);
  EXPECT_EQ(hashes(after.tune), tune);
  EXPECT_TRUE(notes.empty());
}

TEST(QuantiseSplit, CountsACopyOnceAndSaysSo) {
  std::vector<Sample> samples = numbered(10);
  samples.push_back(samples[3]);
  std::vector<std::string> notes;
  EXPECT_EQ(split(samples, &notes).count(), 10u);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("1 of 11 images are copies"), std::string::npos) << notes[0];
}

TEST(QuantiseSplit, RefusesTooFewImages) {
  std::vector<std::string> notes;
  EXPECT_THROW(split(numbered(7), &notes), Error);
  EXPECT_EQ(split(numbered(8), &notes).held_out.size(), 1u);
}

// ---- ranges

TEST(QuantiseRanges, RepresentZeroExactly) {
  for (const Range& range : {Range{-1, 3}, Range{0.5, 2}, Range{-7, -2}, Range{-1e-6, 100}, Range{0, 0}}) {
    const Affine affine = affine_of(range);
    EXPECT_EQ(affine.real(affine.integer(0)), 0);
    EXPECT_GE(affine.zero_point, -128);
    EXPECT_LE(affine.zero_point, 127);
    const double step = static_cast<double>(affine.scale);
    for (const double end : {range.min, range.max}) EXPECT_NEAR(affine.real(affine.integer(end)), end, step);
  }
}

TEST(QuantiseRanges, SaturateAndRoundTiesToEven) {
  const Affine affine{.scale = 0.5f, .zero_point = 10};
  EXPECT_EQ(affine.integer(1e9), 127);
  EXPECT_EQ(affine.integer(-1e9), -128);
  EXPECT_EQ(affine.integer(0.25), 10);
  EXPECT_EQ(affine.integer(0.75), 12);
}

// Uniform values with one outlier 100 times as large.
Distribution with_outlier() {
  Distribution d{.observed = true, .finite = true, .min = 0, .max = 100, .histogram = std::vector<uint64_t>(kBins)};
  for (size_t i = 0; i < kBins / 100; ++i) d.histogram[i] = 100000;
  d.histogram.back() = 1;
  return d;
}

TEST(QuantiseRanges, RulesDifferWhereAnOutlierIs) {
  const Distribution d = with_outlier();
  EXPECT_EQ(range_of(d, RangeRule::MinMax, {}).max, 100);
  EXPECT_LT(range_of(d, RangeRule::Percentile9999, {}).max, 1.1);
  EXPECT_LT(range_of(d, RangeRule::Percentile999, {}).max, 1.1);
  EXPECT_LT(range_of(d, RangeRule::SquaredError, {}).max, 100);
  EXPECT_EQ(range_of(d, RangeRule::Exact, Range{0, 6}).max, 6);
  EXPECT_EQ(range_of(d, RangeRule::Exact, {}).max, 100);
}

// ---- the statement about the held-out images

TEST(QuantiseMeasure, LowerLimitIsThatOfClopperAndPearson) {
  // All of n: the n-th root of 5 %. 1 - p = 0.95^(1/n) for one of n. 0.7839 for 19 of 20: tables of the binomial
  // distribution.
  for (const size_t n : {1, 12, 20, 300}) {
    EXPECT_NEAR(lower_limit(n, n), std::pow(0.05, 1.0 / static_cast<double>(n)), 1e-9);
    EXPECT_NEAR(lower_limit(1, n), 1 - std::pow(0.95, 1.0 / static_cast<double>(n)), 1e-9);
  }
  EXPECT_NEAR(lower_limit(19, 20), 0.7839, 5e-5);
  EXPECT_EQ(lower_limit(0, 20), 0);
  EXPECT_EQ(samples_to_show(0.99), 299u);
}

TEST(QuantiseMeasure, BoundsAreReadAndRefused) {
  EXPECT_EQ(Bound::parse("top1=99").value, 99);
  EXPECT_EQ(Bound::parse("sqnr=25.5").value, 25.5);
  for (const char* text : {"top1", "top1=", "top1=x", "top1=101", "sqnr=-3", "sqnr=inf", ""})
    EXPECT_THROW(Bound::parse(text), Error) << text;
}

// ---- weights

TEST(QuantiseRounding, TheFeedbackFactorsTheHessianForAnyThreads) {
  constexpr size_t kWidth = 150, kRows = 200;  // more than a block of columns
  Hessian hessian(kWidth);
  const std::vector<double> x = noise(kWidth * kRows, 3);
  for (size_t r = 0; r < kRows; ++r) hessian.add(std::span(x).subspan(r * kWidth, kWidth));
  const std::vector<double> f = feedback_of(hessian.sums(), kWidth, nullptr);
  ASSERT_EQ(f.size(), kWidth * kWidth);
  const auto pool = Pool::create(2, nullptr);
  const std::vector<double> by_two = feedback_of(hessian.sums(), kWidth, pool.get());
  double trace = 0;
  for (size_t i = 0; i < kWidth; ++i) trace += hessian.sums()[i * kWidth + i];
  // The damped matrix is F^T D F.
  std::vector<double> d(kWidth);
  for (size_t i = kWidth; i-- > 0;) {
    for (size_t j = i + 1; j-- > 0;) {
      EXPECT_EQ(f[i * kWidth + j], by_two[i * kWidth + j]);
      const bool diagonal = i == j;
      double product = hessian.sums()[i * kWidth + j] + (diagonal ? 0.01 * trace / kWidth : 0);
      for (size_t k = i + 1; k < kWidth; ++k) product -= f[k * kWidth + i] * d[k] * f[k * kWidth + j];
      if (diagonal) d[i] = product;
      EXPECT_NEAR(product, d[i] * f[i * kWidth + j], 1e-9 * trace) << i << "," << j;
    }
  }
}

TEST(QuantiseRounding, MinimisesTheErrorOfTheProducts) {
  constexpr size_t kWidth = 16, kRows = 64;
  Hessian hessian(kWidth);
  std::vector<double> x;
  for (size_t r = 0; r < kRows; ++r) {  // correlated, as neighbouring pixels are
    for (size_t i = 0; i < kWidth; ++i)
      x.push_back(std::sin(static_cast<double>(r)) + 0.1 * std::sin(7.0 * static_cast<double>(r * kWidth + i)));
    hessian.add(std::span(x).subspan(r * kWidth, kWidth));
  }
  const std::vector<double> w = noise(kWidth, 1);
  const Weight nearest = quantise_to_nearest(w, 1, {}, "w");
  const double scale = static_cast<double>(nearest.scales[0]);
  std::vector<int8_t> rounded(kWidth);
  round_by_hessian(w, kWidth, feedback_of(hessian.sums(), kWidth, nullptr), std::span(&scale, 1), {-127, 127, kWidth},
                   rounded);
  const auto error = [&](const std::vector<int8_t>& q) {
    double sum = 0;
    for (size_t r = 0; r < kRows; ++r) {
      double e = 0;
      for (size_t i = 0; i < kWidth; ++i) e += x[r * kWidth + i] * (w[i] - q[i] * scale);
      sum += e * e;
    }
    return sum;
  };
  EXPECT_LT(error(rounded), 0.5 * error(nearest.integers));
}

TEST(QuantiseRounding, ScalesGrowWhereABiasWouldOverflow) {
  Weight weight{.channels = 2, .width = 1, .integers = {127, 127}, .scales = {1e-12f, 0.01f}, .bias = {5, 5}};
  const ChannelScales stored = channel_scales(weight, 0.1f, 0.05f);
  for (size_t c = 0; c < 2; ++c)
    EXPECT_NEAR(stored.bias[c] * 0.1 * static_cast<double>(stored.scales[c]), 5, 0.001) << c;
  EXPECT_EQ(stored.integers[1], 127);
  EXPECT_EQ(stored.scales[1], 0.01f);
}

// ---- whole networks

size_t count_of(const Graph& graph, fbs::OpParams type) {
  return static_cast<size_t>(std::count_if(graph.table.operators.begin(), graph.table.operators.end(),
                                           [&](const auto& op) { return op->params.type == type; }));
}

TEST(Quantise, ComputesOnIntegersBetweenTwoConversions) {
  ferry::Network n;
  build(n);
  run_passes(n.graph, {});
  const Result result = quantised(n);
  EXPECT_EQ(count_of(*result.graph, fbs::OpParams::Requantize), 2u);  // the input, and the softmax's input
  EXPECT_EQ(count_of(*result.graph, fbs::OpParams::Lookup), 1u);
  EXPECT_EQ(count_of(*result.graph, fbs::OpParams::Unary), 0u);
  EXPECT_TRUE(result.has_classes);
  EXPECT_GT(result.held_out.sqnr(), 25);
  for (const OperatorError& row : result.rows)
    EXPECT_EQ(row.int8, n.graph.table.operators[row.op]->params.type != fbs::OpParams::Softmax) << row.op;
}

TEST(Quantise, WritesTheSameBytesForAnyNumberOfThreads) {
  ferry::Network a, b;
  for (ferry::Network* n : {&a, &b}) build(*n);
  SearchOptions one, two;
  one.threads = 1;
  two.threads = 2;
  EXPECT_EQ(pack(*quantised(a, one).graph), pack(*quantised(b, two).graph));
}

TEST(Quantise, ReleasesOperatorsUntilTheBoundHolds) {
  ferry::Network n;
  build(n);
  const Result plain = quantised(n);
  SearchOptions options;
  options.bound = Bound{Bound::Kind::Sqnr, plain.tune.sqnr() + 3};
  options.explain = true;
  const Result held = quantised(n, options);
  EXPECT_GE(held.tune.sqnr(), options.bound->value);
  size_t released = 0;
  for (const OperatorError& row : held.rows) {
    released += row.reason == Reason::Bound ? 1 : 0;
    EXPECT_EQ(row.reason != Reason::None && row.int8, false);
    EXPECT_EQ(row.int8 && row.role != Role::Mover, row.without.has_value()) << row.op;
  }
  EXPECT_GT(released, 0u);
  options.bound->value = 1000;
  EXPECT_THROW(quantised(n, options), Error);
}

// A depthwise convolution over channels of very different ranges.
void build_depthwise(ferry::Network& n) {
  const Tensor x = n.input({1, kSide, kSide, 3});
  std::vector<double> weight = noise(8 * 3, 1);
  for (size_t c = 0; c < 8; ++c)
    for (size_t i = 0; i < 3; ++i) weight[c * 3 + i] *= c == 0 ? 10 : 1;
  const Tensor w = n.graph.add_constant("w", {8, 1, 1, 3}, weight);
  const Tensor a = relu(n.graph.add_op("first", fbs::Conv2dT{}, {x, w, n.constant({8}, 2)}));
  std::vector<double> depthwise = noise(8 * 9, 4);
  for (size_t i = 0; i < 9; ++i) depthwise[i] /= 10;
  fbs::Conv2dT params;
  params.groups = 8;
  n.output(n.graph.add_op("second", params, {a, n.graph.add_constant("d", {8, 3, 3, 1}, depthwise)}));
}

TEST(QuantiseEqualise, KeepsTheFunctionAndLowersTheError) {
  ferry::Network n;
  build_depthwise(n);
  run_passes(n.graph, {});
  std::vector<std::string> notes;
  const std::vector<Sample> samples = noise_samples(16);
  const Split parts = split(samples, &notes);
  const Distributions distributions = observe(n.graph, parts.calibrate, 1, {});
  const std::unique_ptr<Graph> equal = equalised(n.graph, distributions);
  ASSERT_NE(equal, nullptr);
  const Array input{Shape{1, kSide, kSide, 3}, noise(kSide * kSide * 3, 5)};
  const TensorId output = n.graph.table.outputs.front()->tensor;
  const std::vector<double> expected = n.run(), values = reference::interpret(*equal, {input}).at(output).values;
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(values[i], expected[i], 1e-9) << i;
  const Distributions after = observe(*equal, parts.calibrate, 1, {});
  const TensorId between = n.graph.table.operators.back()->inputs[0];
  const auto smallest = [&](const Distributions& of) {
    const std::vector<float>& largest = of[between].channel_max;
    return *std::min_element(largest.begin(), largest.end()) / *std::max_element(largest.begin(), largest.end());
  };
  EXPECT_LT(smallest(distributions), 0.3);
  EXPECT_NEAR(smallest(after), std::min(1.0f, 16 * smallest(distributions)), 0.01f);  // a factor of at most 16
  EXPECT_TRUE(quantised(n).equalised);
}

// The output's scale is so small that the multiplier would exceed 256.
TEST(Quantise, LeavesMultipliersBeyondTheArithmeticInFloat) {
  ferry::Network n;
  const Tensor x = n.conv(n.input({1, kSide, kSide, 3}), 4, 1, false);
  fbs::Conv2dT params;
  params.output_min = 0;
  params.output_max = 1e-5f;
  n.output(n.graph.add_op("clamped", params, {x, n.constant({4, 1, 1, 4}, 3)}));
  const Result result = quantised(n);
  EXPECT_TRUE(result.rows[0].int8);
  EXPECT_FALSE(result.rows[1].int8);
  EXPECT_EQ(count_of(*result.graph, fbs::OpParams::Requantize), 2u);
}

TEST(Quantise, RefusesANetworkWithoutIntegerOperators) {
  ferry::Network n;
  n.output(softmax(n.input({1, kSide, kSide, 3})));
  EXPECT_THROW(quantised(n), Error);
}

TEST(Quantise, KeepsAConcatenationOfVeryDifferentRangesInFloat) {
  ferry::Network n;
  const Tensor x = n.conv(n.input({1, kSide, kSide, 3}), 4, 1, false);
  const Tensor large = x * n.graph.add_constant("large", {1}, std::vector<double>{100});
  n.output(concat({large, x}));
  const Result result = quantised(n);
  EXPECT_FALSE(result.rows.back().int8);
}

TEST(Graph, ReadsConstantsWithTheScaleOfAnActivation) {
  Graph graph;
  graph.add_input("x", {1, 3}, fbs::Layout::Same);
  const Tensor constant = graph.add_constant("c", fbs::DType::Int8, {3}, hold(std::vector<int8_t>{-128, 3, 127}));
  graph.set_quantization(constant.id, 0.5f, 3);
  EXPECT_EQ(graph.values(constant.id), (std::vector<double>{-65.5, 0, 62}));
}

TEST(FromBlob, GivesTheGraphThatWasPacked) {
  ferry::Network n;
  build(n);
  const std::vector<std::byte> blob = pack(n.graph);
  const ScratchFolder folder;
  const std::string path = folder.write("m.ferry", {reinterpret_cast<const char*>(blob.data()), blob.size()});
  std::shared_ptr<Model> model;
  ASSERT_TRUE(Model::open(path.c_str(), &model).ok());
  EXPECT_EQ(pack(*graph_of(model)), blob);
}

}  // namespace
}  // namespace ferry::int8
