// A network with quantized weights, as the converter writes it, entirely on the GPU.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>

#include "converter/pack/pack.h"
#include "converter/quantize/quantize.h"
#include "converter/reference/interpreter.h"
#include "sdk/graph/session.h"
#include "tests/support/blobs.h"
#include "tests/support/gpus.h"

namespace ferry::testing {
namespace {

// Mean squared error over the mean square, for four layers: float32's rounding, and float16's, of which each layer may
// add 1e-5.
constexpr double kQuantizedBound = 1e-12, kQuantizedFloat16Bound = 4e-5;

std::vector<float> numbers_of(const Shape& shape, uint32_t seed) {
  std::vector<float> values(static_cast<size_t>(shape.elements()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = noise(seed, static_cast<uint32_t>(i));
  return values;
}

// The MLP of a transformer block on a map of 13 x 15 tokens, a pointwise convolution, and a classifier.
std::unique_ptr<Graph> quantized_network() {
  auto graph = std::make_unique<Graph>();
  uint32_t seed = 0;
  const auto layer = [&](const char* name, const auto& params, Tensor x, Shape weight) {
    const std::string prefix = name;
    const Tensor w = graph->add_constant(prefix + ".weight", weight, numbers_of(weight, ++seed));
    const Tensor b = graph->add_constant(prefix + ".bias", {weight[0]}, numbers_of({weight[0]}, ++seed));
    return graph->add_op(name, params, {x, w, b});
  };
  const Tensor x = graph->add_input("x", {1, 13, 15, 64}, fbs::Layout::Same);
  fbs::UnaryT gelu;
  gelu.kind = fbs::UnaryKind::Gelu;
  Tensor y = graph->add_op("gelu", gelu, {layer("fc1", fbs::LinearT(), x, {256, 64})});
  y = layer("fc2", fbs::LinearT(), y, {64, 256});
  y = graph->add_op("sum", fbs::BinaryT(), {x, y});
  y = layer("conv", fbs::Conv2dT(), y, {96, 1, 1, 64});
  fbs::ReduceT mean;
  mean.axes = {1, 2};
  y = graph->add_op("mean", mean, {y});
  graph->add_output("y", layer("head", fbs::LinearT(), y, {101, 96}), fbs::Layout::Same);
  return graph;
}

struct Ran {
  std::vector<float> output;
  uint64_t weight_bytes = 0;
};

Ran run(const Graph& graph, const std::string& gpu, ferry_precision precision) {
  Ran ran;
  AlignedBytes blob(pack(graph));
  std::shared_ptr<Model> model;
  Status status = Model::open_memory(blob.data(), blob.size(), &model);
  EXPECT_TRUE(status.ok()) << status.message();
  SessionOptions options;
  options.num_threads = 1;
  options.backend = FERRY_BACKEND_GPU;
  options.precision = precision;
  options.gpu_required = true;
  options.gpu_retry = true;  // earlier tests may have lost the device
  options.gpu_device = gpu.c_str();
  std::unique_ptr<Session> session;
  status = Session::create(model, options, &session);
  EXPECT_TRUE(status.ok()) << status.message();
  if (!status.ok()) return ran;
  const std::vector<float> x = numbers_of({1, 13, 15, 64}, 0);
  const auto port = [](const auto& ports) { return ports->Get(0)->tensor(); };
  std::memcpy(session->data(port(model->graph().inputs())), x.data(), x.size() * sizeof(float));
  status = session->run();
  EXPECT_TRUE(status.ok()) << status.message();
  const BackendReport& report = session->computing().report();
  EXPECT_EQ(report.cpu_operators, 0u);
  EXPECT_EQ(report.canary_failures, 0u);
  const TensorId output = port(model->graph().outputs());
  const auto* values = static_cast<const float*>(session->data(output));
  ran.output.assign(values, values + session->shape(output).elements());
  ran.weight_bytes = session->computing().packed_bytes();
  return ran;
}

// The oracle's result without quantized rows; and weights use only the memory of their bits and scales.
TEST(Quantized, NetworksRunOnTheGpu) {
  for (const WeightBits bits : {WeightBits::Eight, WeightBits::Four}) {
    const std::unique_ptr<Graph> graph = quantized_network();
    quantize_weights(*graph, bits);
    const std::vector<float> x = numbers_of({1, 13, 15, 64}, 0);
    const reference::Array input{{1, 13, 15, 64}, {x.begin(), x.end()}};
    const std::map<TensorId, reference::Array> values = reference::interpret(*graph, {input});
    const std::vector<double>& expected = values.at(graph->table.outputs[0]->tensor).values;
    for (const std::string& gpu : test_gpus())
      for (const ferry_precision precision : {FERRY_PRECISION_FLOAT32, FERRY_PRECISION_FLOAT16}) {
        const bool half = precision == FERRY_PRECISION_FLOAT16;
        SCOPED_TRACE(gpu + (half ? ", float16" : ", float32") + (bits == WeightBits::Eight ? ", i8" : ", i4"));
        const Ran ran = run(*graph, gpu, precision);
        ASSERT_EQ(ran.output.size(), expected.size());
        double error = 0, square = 0;
        for (size_t i = 0; i < expected.size(); ++i) {
          const double difference = static_cast<double>(ran.output[i]) - expected[i];
          error += difference * difference;
          square += expected[i] * expected[i];
        }
        EXPECT_LE(error / square, half ? kQuantizedFloat16Bound : kQuantizedBound);
        // 48,600 weights, of which the classifier's 9,700 stay bytes; 500 scales of outputs or 1,200 of blocks, and 500
        // biases, in quads. float16 weights would need 100,000.
        EXPECT_LE(ran.weight_bytes, bits == WeightBits::Eight ? 54'000u : 38'000u);
      }
  }
}

}  // namespace
}  // namespace ferry::testing
