// Operators on Int8 activations: the integers of every CPU kernel equal the reference's (sdk/reference/int8.cc),
// without a tolerance, for one thread and for several.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "converter/reference/interpreter.h"
#include "tests/runtime/networks.h"

namespace ferry::testing {
namespace {

struct Scale {
  float scale = 1;
  int zero_point = 0;
};

// A network under construction: floats in, integers inside, floats out.
class Network {
 public:
  Graph graph;

  Tensor input(const Shape& shape, Scale scale) {
    const Tensor x = graph.add_input("x" + std::to_string(graph.table.inputs.size()), shape, fbs::Layout::Same);
    return quantized(fbs::RequantizeT(), {x}, scale);
  }

  template <typename Params>
  Tensor quantized(Params params, const std::vector<Tensor>& inputs, Scale scale) {
    const Tensor y = graph.add_op("y", std::move(params), inputs);
    graph.set_quantization(y.id, scale.scale, scale.zero_point);
    return y;
  }

  Tensor weight(const Shape& shape, std::vector<float> scales, int low = -127, int high = 127, int zero_point = 0) {
    const auto count = static_cast<int32_t>(scales.size());
    const Tensor scale = graph.add_constant("scale", {count}, std::move(scales));
    const Tensor w = graph.add_constant("w", fbs::DType::Int8, shape, hold(integers(shape.elements(), low, high)));
    auto quantization = std::make_unique<fbs::QuantizationT>();
    quantization->scale = scale.id;
    quantization->zero_point = zero_point;
    graph.at(w.id).quantization = std::move(quantization);
    return w;
  }

  Tensor bias(int32_t channels, int range) {
    std::vector<int32_t> values;
    for (int32_t i = 0; i < channels; ++i) values.push_back(uniform(-range, range));
    return graph.add_constant("bias", {channels}, std::move(values));
  }

  std::vector<int8_t> integers(int64_t count, int low, int high) {
    std::vector<int8_t> values;
    // Half of them at the ends, where kernels would saturate in 16 bits.
    for (int64_t i = 0; i < count; ++i)
      values.push_back(static_cast<int8_t>(random_() % 2 == 0 ? uniform(low, high) : random_() % 2 == 0 ? low : high));
    return values;
  }

  int uniform(int low, int high) { return low + static_cast<int>(random_() % static_cast<unsigned>(high - low + 1)); }

  // Adds the output and compares.
  void expect_equal(Tensor y) {
    fbs::RequantizeT back;
    back.to = fbs::DType::Float32;
    graph.add_output("y", graph.at(y.id).dtype == fbs::DType::Int8 ? graph.add_op("back", back, {y}) : y,
                     fbs::Layout::Same);
    const Opened opened(graph);
    for (const int threads : {1, 3}) {
      const SessionPtr session = make_session(opened.model, threads);
      std::vector<reference::Array> inputs;
      for (size_t i = 0; i < graph.table.inputs.size(); ++i) {
        ferry_tensor tensor;
        ASSERT_OK(ferry_session_input(session.get(), i, &tensor));
        float* const values = static_cast<float*>(tensor.data);
        const fbs::TensorT& x = *graph.table.tensors[i == 0 ? 0 : index_of(graph.table.inputs[i]->tensor)];
        reference::Array& array = inputs.emplace_back();
        array.shape = graph.shape(graph.table.inputs[i]->tensor);
        for (size_t k = 0; k < tensor.bytes / sizeof(float); ++k) {
          // Beyond the integers' range on both sides, and often at a half.
          values[k] =
              std::round(noise(static_cast<uint32_t>(i) + 7, static_cast<uint32_t>(k)) * 320) / 2 * step(x.name);
          if (k == 3) values[k] = std::numeric_limits<float>::quiet_NaN();
          if (k == 4) values[k] = -std::numeric_limits<float>::infinity();
          array.values.push_back(static_cast<double>(values[k]));
        }
      }
      ASSERT_OK(ferry_session_run(session.get()));
      ferry_tensor output;
      ASSERT_OK(ferry_session_output(session.get(), 0, &output));
      const std::vector<float> got = elements(output);
      const reference::Array expected = reference::interpret(graph, inputs).at(graph.table.outputs[0]->tensor);
      ASSERT_EQ(got.size(), expected.values.size());
      size_t different = 0;
      for (size_t k = 0; k < got.size(); ++k) {
        const bool differs = static_cast<double>(got[k]) != expected.values[k];
        if (differs && different++ < 3)
          ADD_FAILURE() << "element " << k << " is " << got[k] << ", expected " << expected.values[k] << ", with "
                        << threads << " threads";
      }
      EXPECT_EQ(different, 0u) << "of " << got.size();
    }
  }

 private:
  // The scale of the value that the input becomes.
  float step(const std::string& name) const {
    for (const auto& op : graph.table.operators)
      for (const TensorId t : op->inputs)
        if (graph.at(t).name == name) return graph.at(op->outputs[0]).quantization->float_scale;
    return 1;
  }

  std::mt19937 random_{17};
};

fbs::Conv2dT convolution(int stride, int pad, int groups = 1) {
  fbs::Conv2dT p;
  p.stride_h = p.stride_w = stride;
  p.pad_top = p.pad_left = p.pad_bottom = p.pad_right = pad;
  p.groups = groups;
  return p;
}

struct ConvCase {
  const char* name;
  Shape x, w;
  int stride = 1, pad = 0, groups = 1;
  Scale from{0.05f, 3}, to{0.1f, -7};
  float min = -std::numeric_limits<float>::infinity(), max = std::numeric_limits<float>::infinity();
  int bias = 5000;
};

void PrintTo(const ConvCase& c, std::ostream* out) { *out << c.name; }

class Int8Conv2d : public ::testing::TestWithParam<ConvCase> {};

TEST_P(Int8Conv2d, EqualsTheReference) {
  const ConvCase& c = GetParam();
  Network n;
  const Tensor x = n.input(c.x, c.from);
  std::vector<float> scales;
  for (int32_t o = 0; o < c.w[0]; ++o) scales.push_back(0.02f / static_cast<float>(1 + o % 9));
  fbs::Conv2dT p = convolution(c.stride, c.pad, c.groups);
  p.output_min = c.min, p.output_max = c.max;
  std::vector<Tensor> inputs = {x, n.weight(c.w, scales)};
  if (c.bias > 0) inputs.push_back(n.bias(c.w[0], c.bias));
  n.expect_equal(n.quantized(p, inputs, c.to));
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, Int8Conv2d,
    ::testing::Values(ConvCase{"Pointwise", {1, 7, 9, 24}, {40, 1, 1, 24}},
                      ConvCase{"OneInput", {1, 5, 5, 1}, {3, 1, 1, 1}},
                      ConvCase{"OddInputs", {2, 5, 3, 17}, {33, 1, 1, 17}, 1, 0, 1, {0.05f, -128}, {0.02f, 127}},
                      ConvCase{"Deep", {1, 2, 2, 4096}, {5, 1, 1, 4096}, 1, 0, 1, {0.05f, 127}, {40.0f, 0}},
                      ConvCase{"ThreeByThree", {1, 9, 8, 5}, {7, 3, 3, 5}, 2, 1},
                      ConvCase{"Relu6", {1, 9, 8, 3}, {16, 3, 3, 3}, 1, 1, 1, {0.05f, 3}, {0.0235f, -128}, 0, 6},
                      ConvCase{"NoBias", {1, 4, 4, 8}, {8, 2, 2, 8}, 1, 0, 1, {0.05f, 3}, {0.1f, 0}, -1, 1, 0},
                      ConvCase{"Groups", {1, 6, 6, 12}, {8, 3, 3, 3}, 1, 1, 4},
                      ConvCase{"Depthwise", {1, 10, 11, 37}, {37, 3, 3, 1}, 1, 1, 37},
                      ConvCase{"DepthwiseStride", {2, 11, 9, 16}, {16, 3, 3, 1}, 2, 1, 16, {0.05f, 127}, {0.1f, 9}},
                      ConvCase{"DepthwiseFive", {1, 12, 13, 20}, {20, 5, 5, 1}, 1, 2, 20, {0.05f, -128}},
                      ConvCase{"DepthwiseMultiplier", {1, 6, 5, 6}, {12, 3, 3, 1}, 1, 1, 6},
                      ConvCase{"TinyScales", {1, 5, 5, 8}, {8, 3, 3, 8}, 1, 1, 1, {1e-8f, 5}, {1e-9f, 5}}),
    [](const auto& instance) { return std::string(instance.param.name); });

TEST(Int8Conv2d, RefusesScalesThatNoKernelComputesWith) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  for (const float scale : {0.0f, -0.01f, 1e-39f, kNan, 1e9f})
    for (const int32_t groups : {1, 16}) {  // 16: depthwise
      Network n;
      const Tensor x = n.input({1, 8, 8, 16}, {0.05f, 3});
      std::vector<float> scales(16, 0.01f);
      scales[5] = scale;
      const Tensor y =
          n.quantized(convolution(1, 1, groups), {x, n.weight({16, 3, 3, 16 / groups}, scales)}, {0.1f, 0});
      fbs::RequantizeT back;
      back.to = fbs::DType::Float32;
      n.graph.add_output("y", n.graph.add_op("back", back, {y}), fbs::Layout::Same);
      const Opened opened(n.graph);
      ferry_session* session = nullptr;
      EXPECT_EQ(ferry_session_create(opened.model, nullptr, &session), FERRY_UNSUPPORTED) << scale;
      EXPECT_NE(std::string(ferry_last_error()).find("the weight's scale of output channel 5 is"), std::string::npos)
          << ferry_last_error();
    }
}

TEST(Int8Conv2d, RefusesTheWeightThatOverflows) {
  for (const int32_t groups : {1, 16}) {
    Network n;
    const Tensor x = n.input({1, 8, 8, 16}, {0.05f, 3});
    const Tensor w = n.weight({16, 3, 3, 16 / groups}, {0.01f}, -128, -128);
    const Tensor y = n.quantized(convolution(1, 1, groups), {x, w}, {0.1f, 0});
    fbs::RequantizeT back;
    back.to = fbs::DType::Float32;
    n.graph.add_output("y", n.graph.add_op("back", back, {y}), fbs::Layout::Same);
    const Opened opened(n.graph);
    ferry_session* session = nullptr;
    EXPECT_EQ(ferry_session_create(opened.model, nullptr, &session), FERRY_UNSUPPORTED);
    EXPECT_NE(std::string(ferry_last_error()).find("conv2d: a weight is -128, expected -127 to 127"), std::string::npos)
        << ferry_last_error();
  }
}

TEST(Int8Linear, EqualsTheReference) {
  for (const int32_t inputs : {1, 3, 17, 300}) {
    Network n;
    const Tensor x = n.input({2, 3, inputs}, {0.05f, 20});
    n.expect_equal(n.quantized(fbs::LinearT(), {x, n.weight({10, inputs}, {0.01f}), n.bias(10, 1000)}, {0.2f, -3}));
  }
}

// Unsigned weights of a file: some channels exceed 8 signed bits without the zero point, or all.
TEST(Int8Weights, WithAZeroPointAreExact) {
  for (const int zero_point : {-128, -31, 1, 127})
    for (const int low : {-128, 0})
      for (const auto& [x, w, stride, groups] : {std::tuple<Shape, Shape, int, int>{{1, 5, 6, 40}, {9, 1, 1, 40}, 1, 1},
                                                 {{2, 9, 8, 5}, {7, 3, 3, 5}, 2, 1},
                                                 {{1, 10, 11, 24}, {24, 3, 3, 1}, 1, 24},
                                                 {{1, 6, 6, 12}, {8, 2, 3, 3}, 1, 4}}) {
        Network n;
        const Tensor at = n.input(x, {0.05f, -101});
        const std::vector<Tensor> inputs = {at, n.weight(w, {0.01f}, low, 127, zero_point), n.bias(w[0], 3000)};
        n.expect_equal(n.quantized(convolution(stride, 1, groups), inputs, {0.4f, 5}));
      }
  Network n;
  const Tensor x = n.input({2, 3, 515}, {0.05f, 20});
  n.expect_equal(
      n.quantized(fbs::LinearT(), {x, n.weight({10, 515}, {0.01f}, -128, 127, 40), n.bias(10, 1000)}, {2.0f, -3}));
}

TEST(Int8Binary, EqualsTheReference) {
  for (const fbs::BinaryKind kind : {fbs::BinaryKind::Add, fbs::BinaryKind::Sub, fbs::BinaryKind::Mul})
    for (const auto& [a, b] : {std::pair<Shape, Shape>{{1, 5, 7, 19}, {1, 5, 7, 19}},
                               {{2, 5, 7, 19}, {2, 1, 1, 19}},
                               {{2, 3, 4, 8}, {1}},
                               {{3, 1, 4}, {3, 5, 1}}}) {
      Network n;
      fbs::BinaryT p;
      p.kind = kind;
      p.output_min = -3, p.output_max = 100;
      const Tensor left = n.input(a, {0.05f, -20}), right = n.input(b, {0.3f, 100});
      n.expect_equal(n.quantized(p, {left, right}, {0.1234f, -1}));
    }
}

TEST(Int8Pool2d, EqualsTheReference) {
  for (const fbs::PoolKind kind : {fbs::PoolKind::Max, fbs::PoolKind::Average})
    for (const bool counts : {false, true}) {
      Network n;
      const Tensor x = n.input({2, 9, 8, 300}, {0.05f, 11});
      fbs::Pool2dT p;
      p.kind = kind;
      p.kernel_h = 3, p.kernel_w = 2, p.stride_h = p.stride_w = 2;
      p.pad_top = 1, p.pad_bottom = 1, p.pad_left = 1;
      p.count_include_pad = counts;
      p.ceil_mode = true;
      n.expect_equal(kind == fbs::PoolKind::Max ? n.graph.add_op("y", p, {x}) : n.quantized(p, {x}, {0.043f, -50}));
    }
}

TEST(Int8Reduce, EqualsTheReference) {
  for (const std::vector<int32_t>& axes : {std::vector<int32_t>{1, 2}, {3}, {0, 2}}) {
    Network n;
    const Tensor x = n.input({2, 7, 7, 270}, {0.05f, -90});
    fbs::ReduceT p;
    p.axes = axes;
    p.keep_dims = true;
    n.expect_equal(n.quantized(p, {x}, {0.021f, 5}));
  }
}

TEST(Int8Lookup, ReadsTheTable) {
  for (const int zero_point : {-90, 90}) {
    Network n;
    const Tensor x = n.input({1, 5, 5, 41}, {0.05f, zero_point});
    std::vector<int8_t> table(256);
    for (size_t i = 0; i < table.size(); ++i) table[i] = static_cast<int8_t>(i * 37);
    const Tensor t = n.graph.add_constant("table", fbs::DType::Int8, {256}, hold(table));
    n.graph.set_quantization(t.id, 1, 0);
    n.expect_equal(n.graph.add_op("y", fbs::LookupT(), {x, t}));
  }
}

TEST(Int8Requantize, EqualsTheReference) {
  Network n;
  const Tensor x = n.input({1, 3, 100}, {0.5f, 100});
  n.expect_equal(n.quantized(fbs::RequantizeT(), {x}, {0.2f, -128}));
}

TEST(Int8Binary, RefusesScalesThatFloat32CannotDivide) {
  Network n;
  const Tensor x = n.input({1, 4}, {0x1p99f, 0}), y = n.quantized(fbs::BinaryT(), {x, x}, {0x1p-99f, 0});
  fbs::RequantizeT back;
  back.to = fbs::DType::Float32;
  n.graph.add_output("y", n.graph.add_op("back", back, {y}), fbs::Layout::Same);
  const Opened opened(n.graph);
  ferry_session* session = nullptr;
  EXPECT_EQ(ferry_session_create(opened.model, nullptr, &session), FERRY_UNSUPPORTED);
  EXPECT_NE(std::string(ferry_last_error()).find("binary: the quotient of its scales is inf"), std::string::npos)
      << ferry_last_error();
}

TEST(Int8Movement, KeepsTheIntegers) {
  Network n;
  const Tensor x = n.input({1, 6, 4, 12}, {0.5f, 100});
  fbs::TransposeT perm;
  perm.perm = {0, 3, 1, 2};
  fbs::TransposeT again;
  again.perm = {0, 2, 3, 1};
  Tensor y = n.graph.add_op("t", again, {n.graph.add_op("t", perm, {x})});
  fbs::SliceT slice;
  slice.begin = {0, 1, 0, 3};
  slice.size = {1, 4, 4, 7};
  y = n.graph.add_op("s", slice, {y});
  fbs::PadT pad;
  pad.before = {0, 1, 0, 2};
  pad.after = {0, 2, 1, 2};
  pad.value = 3.25f;
  y = n.graph.add_op("p", pad, {y});
  fbs::ConcatT concat;
  concat.axis = 3;
  y = n.graph.add_op("c", concat, {y, y, n.graph.add_op("c", concat, {y})});
  fbs::SliceT first;
  first.begin = {0, 0, 0, 0};
  first.size = {1, 7, 5, 8};
  y = n.graph.add_op("s", first, {y});
  fbs::PixelShuffleT shuffle;
  y = n.graph.add_op("d", shuffle, {y});
  fbs::Resize2dT resize;
  resize.scale_h = 3, resize.scale_w = 2;
  y = n.graph.add_op("r", resize, {y});
  fbs::ReshapeT reshape;
  reshape.shape = {1, -1, 4};
  n.expect_equal(n.graph.add_op("f", reshape, {y}));
}

}  // namespace
}  // namespace ferry::testing
