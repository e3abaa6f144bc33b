// Planted faults of quantised networks are found and named.
#include "converter/quantize/faults.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "converter/quantize/integer_graph.h"
#include "converter/quantize/plain.h"
#include "tests/converter/quantised_network.h"

namespace ferry::int8 {
namespace {

// A convolution, SiLU, a depthwise convolution with ReLU6, a pointwise one, an addition.
void build_faultless(ferry::Network& n) {
  const auto op = [&](const char* name, auto params, std::vector<Tensor> inputs) {
    return n.graph.add_op(name, params, inputs);
  };
  const Tensor x = n.input({1, kSide, kSide, 3});
  // Weights of very different sizes, whose results are as large as each other.
  std::vector<double> weight = noise(int64_t{8 * 3}, 1.0), bias = noise(int64_t{8}, 2.0);
  for (size_t i = 0; i < weight.size(); ++i) weight[i] *= i / 3 % 4 == 0 ? 1 : 0.05;
  for (double& v : bias) v *= 0.02;
  fbs::Conv2dT clamped;
  clamped.output_min = 0;
  clamped.output_max = 0.1f;
  const Tensor a =
      op("first", clamped, {x, n.graph.add_constant("w", {8, 1, 1, 3}, weight), n.graph.add_constant("b", {8}, bias)});
  fbs::UnaryT silu;
  silu.kind = fbs::UnaryKind::Silu;
  const Tensor b = op("silu", silu, {a});
  fbs::Conv2dT depthwise;
  depthwise.groups = 8;
  depthwise.output_min = 0;
  depthwise.output_max = 1;
  depthwise.pad_top = depthwise.pad_left = depthwise.pad_bottom = depthwise.pad_right = 1;
  const Tensor c = op("depthwise", depthwise, {b, n.constant({8, 3, 3, 1}, 3), n.constant({8}, 4)});
  const Tensor d = op("last", fbs::Conv2dT{}, {c, n.constant({8, 1, 1, 8}, 5), n.constant({8}, 6)});
  n.output(d + b);
}

struct Quantised {
  ferry::Network real;
  std::vector<Sample> samples;
  std::unique_ptr<Graph> graph;

  Quantised() : samples(noise_samples(8)) {
    build_faultless(real);
    Samples all;
    for (const Sample& sample : samples) all.push_back(&sample);
    graph = integer_graph(real.graph, plain_plan(real.graph, all, 1)).graph;
  }

  fbs::OperatorT& op(const std::string& name) {
    for (const auto& candidate : graph->table.operators)
      if (candidate->name == name && candidate->params.type != fbs::OpParams::Requantize) return *candidate;
    fail("no operator '%s'", name.c_str());
  }
  fbs::QuantizationT& scale_of(const std::string& name) { return *graph->at(op(name).outputs.front()).quantization; }

  // Replaces input `input` of the operator.
  template <typename T>
  void edit(const std::string& name, size_t input, const std::function<void(std::vector<T>*)>& change) {
    TensorId& t = op(name).inputs[input];
    const Constant stored = graph->constant(t);
    std::vector<T> values(stored.bytes.size() / sizeof(T));
    std::memcpy(values.data(), stored.bytes.data(), stored.bytes.size());
    change(&values);
    const TensorId replaced = graph->add_constant("edited", graph->at(t).dtype, graph->shape(t), hold(values)).id;
    if (graph->at(t).quantization)
      graph->at(replaced).quantization = std::make_unique<fbs::QuantizationT>(*graph->at(t).quantization);
    t = replaced;
  }
  void edit_scales(const std::string& name, const std::function<void(std::vector<double>*)>& change) {
    const TensorId weight = op(name).inputs[1];
    std::vector<double> scales = graph->values(graph->at(weight).quantization->scale);
    change(&scales);
    const Shape shape{static_cast<int32_t>(scales.size())};
    std::vector<float> floats(scales.begin(), scales.end());
    const TensorId replaced = graph->add_constant("scales", shape, std::move(floats)).id;
    graph->at(weight).quantization->scale = replaced;
  }

  FaultReport find() { return find_faults(real.graph, *graph, samples.front(), 1); }
};

void expect_fault(Quantised& q, const std::string& op, const std::string& words) {
  const FaultReport report = q.find();
  ASSERT_TRUE(report.first.has_value()) << words;
  const Examined& first = report.operators[*report.first];
  EXPECT_EQ(first.name, op) << first.cause;
  EXPECT_NE(first.cause.find(words), std::string::npos) << first.cause;
  EXPECT_LT(first.local, first.expected - 6);
}

TEST(Faults, AreNotFoundWhereThereAreNone) {
  Quantised q;
  const FaultReport report = q.find();
  EXPECT_EQ(report.operators.size(), 5u);
  EXPECT_FALSE(report.first.has_value()) << report.operators[*report.first].name;
  for (const Examined& row : report.operators) EXPECT_GT(row.carried, 15) << row.name;
}

TEST(Faults, TheScaleOfAChannel) {
  Quantised q;
  q.edit_scales("last", [](auto* s) { (*s)[3] *= 2; });
  expect_fault(q, "last", "the scale of output channel 3 is 2 times what its weights need");
}

TEST(Faults, ScalesOfOtherChannels) {
  Quantised q;
  q.edit_scales("first", [](auto* s) { std::rotate(s->begin(), s->begin() + 1, s->end()); });
  expect_fault(q, "first", "output channels have scales of others");
}

TEST(Faults, OneScaleForAllChannels) {
  Quantised q;
  const TensorId weight = q.op("first").inputs[1];
  const std::vector<double> scales = q.graph->values(q.graph->at(weight).quantization->scale);
  const double largest = *std::max_element(scales.begin(), scales.end());
  q.edit<int8_t>("first", 1, [&](auto* v) {
    for (size_t i = 0; i < v->size(); ++i)
      (*v)[i] = static_cast<int8_t>(std::lround((*v)[i] * scales[i / 3] / largest));
  });
  const std::vector<double> before = scales;
  q.edit_scales("first", [&](auto* s) { s->assign(s->size(), largest); });
  q.edit<int32_t>("first", 2, [&](auto* v) {
    for (size_t c = 0; c < v->size(); ++c) (*v)[c] = static_cast<int32_t>(std::lround((*v)[c] * before[c] / largest));
  });
  expect_fault(q, "first", "one scale for all output channels");
}

TEST(Faults, SwappedChannels) {
  Quantised q;
  q.edit<int8_t>("last", 1, [](auto* v) { std::swap_ranges(v->begin(), v->begin() + 8, v->begin() + 16); });
  expect_fault(q, "last", "output channels have weights of others");
}

TEST(Faults, TheBiasOfAChannel) {
  Quantised q;
  q.edit<int32_t>("last", 2, [](auto* v) { (*v)[5] = -(*v)[5]; });
  expect_fault(q, "last", "the bias of output channel 5");
}

TEST(Faults, TheScaleOfABias) {
  Quantised q;
  q.edit<int32_t>("last", 2, [](auto* v) {
    for (int32_t& b : *v) b *= 2;
  });
  expect_fault(q, "last", "its bias is 2 times that of the float network");
}

TEST(Faults, AClippedRange) {
  Quantised q;
  q.scale_of("depthwise").float_scale /= 4;
  expect_fault(q, "depthwise", "the range of its output is clipped");
}

TEST(Faults, ALostClamp) {
  Quantised q;
  q.op("depthwise").params.AsConv2d()->output_min = -std::numeric_limits<float>::infinity();
  q.scale_of("depthwise").zero_point = 0;
  q.scale_of("depthwise").float_scale *= 2;
  expect_fault(q, "depthwise", "its activation differs");
}

TEST(Faults, AZeroPointOfATable) {
  Quantised q;
  q.edit<int8_t>("silu", 1, [](auto* v) {
    std::rotate(v->begin(), v->begin() + 1, v->end());
    v->back() = (*v)[254];
  });
  // The last entry has no value to be moved from.
  const FaultReport report = q.find();
  ASSERT_TRUE(report.first.has_value());
  EXPECT_EQ(report.operators[*report.first].name, "silu");
  EXPECT_NE(report.operators[*report.first].cause.find("table"), std::string::npos);
}

TEST(Faults, TheScaleOfAnInput) {
  Quantised q;
  q.scale_of("first").float_scale *= 2;  // what reads it was made for half the scale
  expect_fault(q, "silu", "its table was made for 0.5 times the scale of its input");
}

TEST(Faults, AreSearchedInTheBlobOfThatNetworkOnly) {
  Quantised q;
  ferry::Network other;
  build(other);
  EXPECT_THROW(find_faults(other.graph, *q.graph, q.samples.front(), 1), Error);
}

}  // namespace
}  // namespace ferry::int8
