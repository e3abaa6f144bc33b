// Which algorithm computes a convolution or a product: the table in sdk/cpu/backend/algorithms.cc.
#include "sdk/cpu/backend/algorithms.h"

#include <gtest/gtest.h>

#include "converter/graph/graph.h"
#include "converter/pack/pack.h"
#include "converter/quantize/quantize.h"
#include "sdk/cpu/backend/features.h"
#include "tests/support/blobs.h"

namespace ferry {
namespace {

// The choice for an operator of a graph, on a CPU with everything that this architecture has.
std::string choice_of(const Graph& graph, unsigned index, bool float16) {
  testing::AlignedBytes blob(pack(graph));
  std::shared_ptr<Model> model;
  const Status status = Model::open_memory(blob.data(), blob.size(), &model);
  EXPECT_TRUE(status.ok()) << status.message();
  cpu::CpuFeatures cpu;
  cpu.avx2 = cpu.avx512f = cpu.float16 = cpu.dot_products = cpu.out_of_order = true;
  return cpu::algorithm_of(cpu::weighted(cpu, *model, *model->graph().operators()->Get(index), float16));
}

// The choice for a graph of one operator with a constant weight.
template <typename Params>
std::string choice(const Params& params, const Shape& input, const Shape& weight, bool float16 = false,
                   bool quantized = false) {
  Graph graph;
  const Tensor x = graph.add_input("x", input, fbs::Layout::Same);
  const std::vector<float> values(static_cast<size_t>(weight.elements()), 0.5f);
  const Tensor w = graph.add_constant("w", weight, values);
  graph.add_output("y", graph.add_op("y", params, {x, w}), fbs::Layout::Same);
  if (quantized) quantize_weights(graph, WeightBits::Eight);
  return choice_of(graph, 0, float16);
}

// The same between integers.
std::string choice_in_integers(const fbs::Conv2dT& params, const Shape& input, const Shape& weight) {
  Graph graph;
  const auto integers = [&](const Tensor& x) {
    graph.set_quantization(x.id, 0.1f, 0);
    return x;
  };
  const Tensor x = integers(graph.add_op("x", fbs::RequantizeT(), {graph.add_input("in", input, fbs::Layout::Same)}));
  const Tensor w = graph.add_constant("w", fbs::DType::Int8, weight,
                                      hold(std::vector<int8_t>(static_cast<size_t>(weight.elements()), 3)));
  auto quantization = std::make_unique<fbs::QuantizationT>();
  const auto channels = static_cast<size_t>(weight[0]);
  quantization->scale = graph.add_constant("scale", {weight[0]}, std::vector<float>(channels, 0.1f)).id;
  graph.at(w.id).quantization = std::move(quantization);
  const Tensor y = integers(graph.add_op("y", params, {x, w}));
  fbs::RequantizeT back;
  back.to = fbs::DType::Float32;
  graph.add_output("out", graph.add_op("out", back, {y}), fbs::Layout::Same);
  return choice_of(graph, 1, /*float16=*/false);
}

fbs::Conv2dT conv(int stride, int pad, int groups = 1) {
  fbs::Conv2dT p;
  p.stride_h = p.stride_w = stride;
  p.pad_top = p.pad_left = p.pad_bottom = p.pad_right = pad;
  p.groups = groups;
  return p;
}

#if defined(__x86_64__) || defined(__aarch64__)
TEST(Algorithms, OfConvolutions) {
  EXPECT_EQ(choice(conv(1, 1), {1, 56, 56, 64}, {64, 3, 3, 64}), "winograd");
  EXPECT_EQ(choice(conv(2, 1), {1, 56, 56, 64}, {64, 3, 3, 64}), "conv_gemm");
  EXPECT_EQ(choice(conv(1, 0), {1, 56, 56, 64}, {64, 1, 1, 64}), "gemm");
  EXPECT_EQ(choice(conv(2, 0), {1, 56, 56, 64}, {64, 1, 1, 64}), "conv_gemm");  // sees every other pixel
  EXPECT_EQ(choice(conv(1, 1, 64), {1, 56, 56, 64}, {64, 3, 3, 1}), "depthwise");
  EXPECT_EQ(choice(conv(1, 1, 4), {1, 56, 56, 64}, {64, 3, 3, 16}), "xnnpack");
}

TEST(Algorithms, OfConvolutionsInIntegers) {
  EXPECT_EQ(choice_in_integers(conv(1, 1, 64), {1, 56, 56, 64}, {64, 3, 3, 1}), "depthwise");
  EXPECT_EQ(choice_in_integers(conv(2, 2, 64), {1, 56, 56, 64}, {64, 5, 5, 1}), "depthwise");
  EXPECT_EQ(choice_in_integers(conv(1, 3, 64), {1, 56, 56, 64}, {64, 7, 7, 1}), "xnnpack");
  EXPECT_EQ(choice_in_integers(conv(1, 0), {1, 56, 56, 64}, {64, 1, 1, 64}), "xnnpack");
}

TEST(Algorithms, OfLinears) { EXPECT_EQ(choice(fbs::LinearT(), {1, 196, 64}, {256, 64}), "gemm"); }

TEST(Algorithms, OfQuantizedWeights) {
  EXPECT_EQ(choice(fbs::LinearT(), {1, 196, 64}, {256, 64}, false, true), "integers");
  EXPECT_EQ(choice(conv(1, 0), {1, 56, 56, 64}, {64, 1, 1, 64}, false, true), "integers");
}

// In a float16 session they are computed in float32, as integers.
TEST(Algorithms, OfQuantizedWeightsInFloat16) {
  EXPECT_EQ(choice(fbs::LinearT(), {1, 196, 64}, {256, 64}, true, true), "none");
  EXPECT_EQ(choice(conv(1, 0), {1, 56, 56, 64}, {64, 1, 1, 64}, true, true), "none");
}

TEST(Algorithms, OfTransposedConvolutions) {
  fbs::ConvTranspose2dT apart, overlapping;
  apart.stride_h = apart.stride_w = overlapping.stride_h = overlapping.stride_w = 2;
  EXPECT_EQ(choice(apart, {1, 28, 28, 64}, {64, 2, 2, 64}), "gemm");
  EXPECT_EQ(choice(overlapping, {1, 28, 28, 64}, {64, 3, 3, 64}), "xnnpack");
}
#endif

#if defined(__aarch64__)
TEST(Algorithms, OfFloat16) {
  EXPECT_EQ(choice(conv(1, 1), {1, 56, 56, 64}, {64, 3, 3, 64}, true), "conv_gemm");
  EXPECT_EQ(choice(conv(1, 1, 64), {1, 56, 56, 64}, {64, 3, 3, 1}, true), "depthwise");
  EXPECT_EQ(choice(conv(1, 1, 4), {1, 56, 56, 64}, {64, 3, 3, 16}, true), "none");
}
#endif

}  // namespace
}  // namespace ferry
