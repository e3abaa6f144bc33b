// Forces every alternative implementation of an operator, with elementwise operators fused into it, and compares with
// the oracle.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "converter/pack/pack.h"
#include "converter/quantize/quantize.h"
#include "converter/reference/reference.h"
#include "sdk/gpu/device/pipelines.h"
#include "sdk/gpu/lowering/lowerings.h"
#include "sdk/gpu/lowering/partition.h"
#include "sdk/graph/session.h"
#include "sdk/model/per_tensor.h"
#include "tests/support/blobs.h"
#include "tests/support/gpus.h"

namespace ferry::testing {
namespace {

// Maximum difference over the maximum magnitude: sums of up to 2304 products in float32, including Winograd's
// transforms and fused operators.
constexpr double kBound = 1e-5;
// Mean squared error over the mean square.
constexpr double kFloat16Bound = 1e-5;

// Adds the elementwise operators after the operator under test.
using Riders = Tensor (*)(Graph&, Tensor);

std::vector<float> some(const Shape& shape, uint32_t seed) {
  std::vector<float> values(static_cast<size_t>(shape.elements()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = noise(seed, static_cast<uint32_t>(i));
  return values;
}

Tensor constant(Graph& graph, const char* name, const Shape& shape, uint32_t seed) {
  return graph.add_constant(name, shape, some(shape, seed));
}

fbs::BinaryT binary(fbs::BinaryKind kind) {
  fbs::BinaryT p;
  p.kind = kind;
  return p;
}

fbs::UnaryT unary(fbs::UnaryKind kind) {
  fbs::UnaryT p;
  p.kind = kind;
  return p;
}

// Adds a second graph input, times a factor, then PReLU with a slope per channel.
Tensor residual(Graph& graph, Tensor value) {
  const Tensor other = graph.add_input("residual", value.shape(), fbs::Layout::Same);
  const Shape vector{value.shape()[value.shape().rank - 1]};
  value = graph.add_op("sum", binary(fbs::BinaryKind::Add), {value, other});
  value = graph.add_op("scale", binary(fbs::BinaryKind::Mul), {constant(graph, "factor", vector, 11), value});
  return graph.add_op("prelu", binary(fbs::BinaryKind::PRelu), {value, constant(graph, "slope", vector, 12)});
}

// Subtracts it from one row per image, then applies a sigmoid.
Tensor gate(Graph& graph, Tensor value) {
  Shape shape = value.shape();
  for (int d = 1; d + 1 < shape.rank; ++d) shape[d] = 1;
  const Tensor other = graph.add_input("gate", shape, fbs::Layout::Same);
  value = graph.add_op("difference", binary(fbs::BinaryKind::Sub), {other, value});
  return graph.add_op("sigmoid", unary(fbs::UnaryKind::Sigmoid), {value});
}

// No fused operators.
Tensor none(Graph&, Tensor value) { return value; }

constexpr Riders kRiders[] = {residual, gate};

// The blob of an operator and its fused operators, its inputs and the oracle's result.
class Case {
 public:
  template <typename Params>
  Case(const Params& params, const Shape& input, const Shape& weight, bool bias, Riders riders,
       fbs::DType weights = fbs::DType::Float32, const std::vector<Shape>& more_inputs = {}) {
    std::vector<Tensor> operands = {graph_.add_input("x", input, fbs::Layout::Same), constant(graph_, "w", weight, 1)};
    if (weights == fbs::DType::Int8) quantize_to_int8(graph_, graph_.at(operands[1].id));
    if (weights == fbs::DType::Int4) quantize_to_int4(graph_, graph_.at(operands[1].id));
    if (bias) operands.push_back(constant(graph_, "b", {weight[0]}, 2));
    for (const Shape& shape : more_inputs)
      operands.push_back(graph_.add_input("more" + std::to_string(operands.size()), shape, fbs::Layout::Same));
    graph_.add_output("y", riders(graph_, graph_.add_op("op", params, operands)), fbs::Layout::Same);
    blob_ = std::make_unique<AlignedBytes>(pack(graph_));
    const Status status = Model::open_memory(blob_->data(), blob_->size(), &model_);
    EXPECT_TRUE(status.ok()) << status.message();
    compute();
  }

  // With that alternative on that GPU. False if it does not apply.
  bool run(const std::string& gpu, gpu::Device& device, ferry_precision precision, int alternative) const;

 private:
  void compute();

  Graph graph_;
  std::unique_ptr<AlignedBytes> blob_;
  std::shared_ptr<Model> model_;
  std::vector<std::vector<float>> inputs_;
  std::vector<double> expected_;
};

void Case::compute() {
  PerTensor<reference::Array> values(graph_.table.tensors.size());
  for (const TensorId t : values.ids())
    if (graph_.is_constant(t)) values[t] = {graph_.shape(t), graph_.values(t)};
  for (const auto& port : graph_.table.inputs) {
    const Shape shape = graph_.shape(port->tensor);
    inputs_.push_back(some(shape, 20 + index_of(port->tensor)));
    values[port->tensor] = {shape, {inputs_.back().begin(), inputs_.back().end()}};
  }
  for (const auto& op : graph_.table.operators) {
    std::vector<const reference::Array*> operands;
    for (TensorId tensor : op->inputs) operands.push_back(&values[tensor]);
    values[op->outputs[0]] = reference::compute(*SerializedOp(*op), operands);
  }
  expected_ = values[graph_.table.outputs[0]->tensor].values;
}

bool Case::run(const std::string& gpu, gpu::Device& device, ferry_precision precision, int alternative) const {
  Shapes shapes;
  for (const TensorId t : graph_.tensors()) shapes.push_back(graph_.shape(t));
  PerTensor<bool> kept(shapes.size(), false);
  kept[graph_.table.outputs[0]->tensor] = true;
  const gpu::Storage storage = precision == FERRY_PRECISION_FLOAT16 ? gpu::Storage::Float16 : gpu::Storage::Float32;
  const std::vector<gpu::Chain> chains = gpu::make_chains(*model_, shapes, kept);
  EXPECT_EQ(chains.size(), 1u);
  device.pipelines().set_tuned(gpu::signature(*model_, chains[0], shapes, storage), alternative);
  gpu::Program program;
  EXPECT_TRUE(gpu::make_program(*model_, shapes, kept, device, storage, &program).ok());
  EXPECT_EQ(program.steps.size(), 1u);
  if (program.steps[0].alternative != alternative) return false;

  SessionOptions options;
  options.num_threads = 1;
  options.backend = FERRY_BACKEND_GPU;
  options.precision = precision;
  options.gpu_required = true;
  options.gpu_device = gpu.c_str();
  std::unique_ptr<Session> session;
  Status status = Session::create(model_, options, &session);
  for (size_t i = 0; status.ok() && i < inputs_.size(); ++i) {
    const TensorId tensor = graph_.table.inputs[i]->tensor;
    std::memcpy(session->data(tensor), inputs_[i].data(), inputs_[i].size() * sizeof(float));
  }
  if (status.ok()) status = session->run();
  if (!status.ok()) {
    ADD_FAILURE() << status.message();
    return true;
  }
  const BackendReport& report = session->computing().report();
  EXPECT_EQ(report.cpu_operators, 0u);
  EXPECT_TRUE(report.notes.empty()) << report.notes[0];
  const auto* got = static_cast<const float*>(session->data(graph_.table.outputs[0]->tensor));
  double worst = 0, largest = 0, squares = 0, expected_squares = 0;
  for (size_t i = 0; i < expected_.size(); ++i) {
    const double difference = std::abs(static_cast<double>(got[i]) - expected_[i]);
    worst = std::isfinite(difference) ? std::max(worst, difference) : INFINITY;
    largest = std::max(largest, std::abs(expected_[i]));
    squares += difference * difference;
    expected_squares += expected_[i] * expected_[i];
  }
  if (precision == FERRY_PRECISION_FLOAT16) {
    EXPECT_LE(squares / expected_squares, kFloat16Bound);
  } else {
    EXPECT_LE(worst / largest, kBound);
  }
  return true;
}

// Runs every case with every alternative that applies on one GPU; on the others, where compiling takes longer than
// running, one case per alternative. Expects every alternative to apply to some case, except the `in_halves` that
// multiply in float16, on devices without float16 arithmetic.
void force_all(const std::vector<std::unique_ptr<Case>>& cases, fbs::OpParams type, size_t in_float16 = 0) {
  for (const std::string& gpu : test_gpus()) {
    std::shared_ptr<gpu::Device> device;
    const Status status = gpu::Device::open(gpu.c_str(), nullptr, false, &device);
    ASSERT_TRUE(status.ok()) << status.message();
    std::vector<int> unfit;
    for (int alternative = 0; alternative < gpu::alternatives(type); ++alternative) {
      int fitted = 0;
      for (const ferry_precision precision : {FERRY_PRECISION_FLOAT32, FERRY_PRECISION_FLOAT16}) {
        const int before = fitted;
        for (size_t i = 0; i < cases.size() && (gpu == test_gpus()[0] || fitted == before); ++i) {
          const size_t other = (i + static_cast<size_t>(alternative)) % cases.size();
          SCOPED_TRACE(::testing::Message() << gpu << (precision == FERRY_PRECISION_FLOAT16 ? ", float16" : ", float32")
                                            << ", alternative " << alternative << ", case " << other);
          fitted += cases[other]->run(gpu, *device, precision, alternative) ? 1 : 0;
        }
      }
      if (fitted == 0) unfit.push_back(alternative);
    }
    EXPECT_EQ(unfit.size(), device->limits().float16_arithmetic ? 0 : in_float16)
        << gpu << ": no case for alternatives " << ::testing::PrintToString(unfit);
  }
}

// The CPU computes sums that exceed lavapipe's loop limit.
TEST(Alternatives, AreRefusedForLoopsLongerThanDriversAllow) {
  Graph graph;
  const Tensor x = graph.add_input("x", {32, 250000}, fbs::Layout::Same);
  const Tensor w = constant(graph, "w", {30, 250000}, 1);
  graph.add_output("y", graph.add_op("op", fbs::LinearT(), {x, w}), fbs::Layout::Same);
  AlignedBytes blob(pack(graph));
  std::shared_ptr<Model> model;
  ASSERT_TRUE(Model::open_memory(blob.data(), blob.size(), &model).ok());
  for (const std::string& gpu : test_gpus()) {
    std::shared_ptr<gpu::Device> device;
    ASSERT_TRUE(gpu::Device::open(gpu.c_str(), nullptr, false, &device).ok());
    gpu::Program program;
    const Shapes shapes = {x.shape(), w.shape(), {32, 30}};
    ASSERT_TRUE(gpu::make_program(*model, shapes, {false, false, true}, *device, gpu::Storage::Float32, &program).ok());
    ASSERT_EQ(program.steps.size(), 1u);
    EXPECT_FALSE(program.steps[0].on_gpu);
    EXPECT_NE(program.steps[0].reason.find("longer than drivers allow"), std::string::npos) << program.steps[0].reason;
  }
}

fbs::Conv2dT conv(int stride, int pad, int groups = 1, int dilation = 1) {
  fbs::Conv2dT p;
  p.stride_h = p.stride_w = stride;
  p.pad_top = p.pad_left = p.pad_bottom = p.pad_right = pad;
  p.groups = groups;
  p.dilation_h = p.dilation_w = dilation;
  return p;
}

// The reason is the device's limit, not that of the last alternative tried, which was for other problems.
TEST(Alternatives, AreRefusedForOperandsThatTheDeviceCannotBind) {
  for (const std::string& gpu : test_gpus()) {
    std::shared_ptr<gpu::Device> device;
    ASSERT_TRUE(gpu::Device::open(gpu.c_str(), nullptr, false, &device).ok());
    const uint64_t range = device->limits().storage_range;
    const Shape shape{1, static_cast<int32_t>(range / 16 / 4096 + 1), 4096, 4};
    Graph graph;
    const Tensor x = graph.add_input("x", shape, fbs::Layout::Same);
    const Tensor w = constant(graph, "w", {4, 3, 3, 4}, 1);
    graph.add_output("y", graph.add_op("op", conv(1, 1), {x, w}), fbs::Layout::Same);
    AlignedBytes blob(pack(graph));
    std::shared_ptr<Model> model;
    ASSERT_TRUE(Model::open_memory(blob.data(), blob.size(), &model).ok());
    gpu::Program program;
    const Shapes shapes = {shape, w.shape(), shape};
    ASSERT_TRUE(gpu::make_program(*model, shapes, {false, false, true}, *device, gpu::Storage::Float32, &program).ok());
    ASSERT_EQ(program.steps.size(), 1u);
    EXPECT_FALSE(program.steps[0].on_gpu);
    EXPECT_EQ(program.steps[0].reason, "an operand of " + std::to_string(shape.elements() * 4) +
                                           " bytes; the device binds " + std::to_string(range));
  }
}

// A profile includes the time of operators that run on the CPU.
TEST(Alternatives, OfTheCpuAreTimed) {
  Graph graph;
  const Tensor x = graph.add_input("x", {5, 250000}, fbs::Layout::Same);
  const Tensor w = constant(graph, "w", {2, 250000}, 1);
  const Tensor y = graph.add_op("long", fbs::LinearT(), {x, w});
  graph.add_output("y", graph.add_op("act", unary(fbs::UnaryKind::Sigmoid), {y}), fbs::Layout::Same);
  AlignedBytes blob(pack(graph));
  std::shared_ptr<Model> model;
  ASSERT_TRUE(Model::open_memory(blob.data(), blob.size(), &model).ok());
  for (const std::string& gpu : test_gpus()) {
    SessionOptions options;
    options.num_threads = 1;
    options.profile = true;
    options.backend = FERRY_BACKEND_GPU;
    options.gpu_required = true;
    options.gpu_device = gpu.c_str();
    std::unique_ptr<Session> session;
    Status status = Session::create(model, options, &session);
    ASSERT_TRUE(status.ok()) << status.message();
    status = session->run();
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_STREQ(session->computing().backend_of(0), "cpu");
    EXPECT_STREQ(session->computing().backend_of(1), "gpu");
    EXPECT_GT(session->computing().microseconds()[0], 0) << gpu;
  }
}

TEST(Alternatives, OfLinear) {
  std::vector<std::unique_ptr<Case>> cases;
  for (const Riders riders : kRiders) {
    cases.push_back(std::make_unique<Case>(fbs::LinearT(), Shape{1, 259}, Shape{17, 259}, true, riders));
    cases.push_back(std::make_unique<Case>(fbs::LinearT(), Shape{3, 270}, Shape{70, 270}, false, riders));
    cases.push_back(std::make_unique<Case>(fbs::LinearT(), Shape{3, 45, 18}, Shape{66, 18}, true, riders));
  }
  cases.push_back(std::make_unique<Case>(fbs::LinearT(), Shape{3, 45, 42}, Shape{66, 42}, true, gate));
  force_all(cases, fbs::OpParams::Linear, 3);
}

// They have no fused operators.
TEST(Alternatives, OfMatMul) {
  std::vector<std::unique_ptr<Case>> cases;
  for (const bool transpose_a : {false, true})
    for (const bool transpose_b : {false, true}) {
      fbs::MatMulT p;
      p.transpose_a = transpose_a;
      p.transpose_b = transpose_b;
      const auto add = [&](int32_t rows, int32_t depth, int32_t columns) {
        const Shape a = transpose_a ? Shape{2, 3, depth, rows} : Shape{2, 3, rows, depth};
        const Shape b = transpose_b ? Shape{2, 1, columns, depth} : Shape{2, 1, depth, columns};
        cases.push_back(std::make_unique<Case>(p, a, b, false, none));
      };
      add(45, 18, 66);
      add(1, 259, 17);
      add(6, 5, 3);
    }
  force_all(cases, fbs::OpParams::MatMul);
}

// They have no fused operators.
TEST(Alternatives, OfDeformConv2d) {
  std::vector<std::unique_ptr<Case>> cases;
  for (const bool masked : {false, true}) {
    const auto add = [&](const Shape& input, const Shape& weight, int groups, int offset_groups) {
      fbs::DeformConv2dT p;
      p.pad_top = p.pad_left = p.pad_bottom = p.pad_right = weight[1] / 2;
      p.groups = groups;
      p.offset_groups = offset_groups;
      const int32_t cells = offset_groups * weight[1] * weight[2];
      std::vector<Shape> more = {{input[0], input[1], input[2], 2 * cells}};
      if (masked) more.push_back({input[0], input[1], input[2], cells});
      cases.push_back(std::make_unique<Case>(p, input, weight, true, none, fbs::DType::Float32, more));
    };
    add({2, 9, 10, 18}, {45, 3, 3, 18}, 1, 1);
    add({1, 9, 10, 32}, {64, 3, 3, 16}, 2, 4);
    add({1, 50, 60, 4}, {6, 1, 1, 4}, 1, 1);
  }
  force_all(cases, fbs::OpParams::DeformConv2d);
}

// Every alternative of a product also dequantizes; the last quads of outputs and inputs are partial.
TEST(Alternatives, OfLinearWithIntegers) {
  std::vector<std::unique_ptr<Case>> cases;
  const auto add = [&](const Shape& input, const Shape& weight, bool bias, fbs::DType weights) {
    const Riders riders = weights == fbs::DType::Int8 ? residual : gate;
    cases.push_back(std::make_unique<Case>(fbs::LinearT(), input, weight, bias, riders, weights));
  };
  add({1, 259}, {17, 259}, true, fbs::DType::Int8);
  add({3, 270}, {70, 270}, false, fbs::DType::Int8);
  add({3, 45, 50}, {66, 50}, true, fbs::DType::Int8);
  add({1, 288}, {17, 288}, true, fbs::DType::Int4);
  add({3, 288}, {70, 288}, false, fbs::DType::Int4);
  add({3, 45, 64}, {66, 64}, true, fbs::DType::Int4);
  force_all(cases, fbs::OpParams::Linear, 3);
}

// The converter writes none of these; other tools may.
TEST(Alternatives, AreRefusedForIntegersThatNoKernelUnpacks) {
  const auto reason = [](const auto& change) {
    Graph graph;
    const Tensor x = graph.add_input("x", {5, 64}, fbs::Layout::Same);
    const Tensor w = constant(graph, "w", {30, 64}, 1);
    quantize_to_int8(graph, graph.at(w.id));
    change(graph, graph.at(w.id).quantization.get());
    graph.add_output("y", graph.add_op("op", fbs::LinearT(), {x, w}), fbs::Layout::Same);
    AlignedBytes blob(pack(graph));
    std::shared_ptr<Model> model;
    const Status status = Model::open_memory(blob.data(), blob.size(), &model);
    EXPECT_TRUE(status.ok()) << status.message();
    std::shared_ptr<gpu::Device> device;
    EXPECT_TRUE(gpu::Device::open(test_gpus()[0].c_str(), nullptr, false, &device).ok());
    Shapes shapes;
    for (const TensorId t : graph.tensors()) shapes.push_back(graph.shape(t));
    PerTensor<bool> kept(shapes.size(), false);
    kept[graph.table.outputs[0]->tensor] = true;
    gpu::Program program;
    EXPECT_TRUE(gpu::make_program(*model, shapes, kept, *device, gpu::Storage::Float32, &program).ok());
    return program.steps[0].reason;
  };
  if (test_gpus().empty()) GTEST_SKIP() << "no Vulkan driver to test on";
  EXPECT_EQ(reason([](Graph&, fbs::QuantizationT*) {}), "");
  EXPECT_EQ(reason([](Graph&, fbs::QuantizationT* q) { q->zero_point = 3; }),
            "linear: input 1 is of type Int8 with scales, along axis 0, in blocks of 0, with the zero point 3; the GPU "
            "backend takes Int8 with a scale an output, and both in blocks of 32, without zero points");
  EXPECT_EQ(reason([](Graph& graph, fbs::QuantizationT* q) {
              q->scale = graph.add_constant("one", {1}, std::vector<float>{0.5f}).id;
            }),
            "");
}

TEST(Alternatives, OfConv2d) {
  fbs::Conv2dT uneven = conv(1, 0);
  uneven.pad_top = 2;
  uneven.pad_right = 1;
  fbs::Conv2dT wide = conv(3, 2, 1, 2);
  wide.stride_w = 2;
  wide.output_min = -0.5f;
  wide.output_max = 0.75f;
  std::vector<std::unique_ptr<Case>> cases;
  const auto add = [&](const fbs::Conv2dT& params, const Shape& input, const Shape& weight, bool bias, Riders riders) {
    cases.push_back(std::make_unique<Case>(params, input, weight, bias, riders));
  };
  for (const Riders riders : kRiders) {
    add(conv(1, 0), {3, 7, 9, 35}, {77, 1, 1, 35}, true, riders);
    add(conv(1, 0), {1, 1, 1, 256}, {8, 1, 1, 256}, true, riders);
    add(conv(1, 0), {2, 1, 1, 260}, {5, 1, 1, 260}, true, riders);
    add(uneven, {1, 11, 13, 6}, {10, 3, 3, 6}, true, riders);
    add(conv(1, 1), {3, 9, 10, 17}, {8, 3, 3, 17}, false, riders);
    add(conv(1, 1), {1, 1, 1, 3}, {2, 3, 3, 3}, true, riders);
    add(wide, {2, 20, 19, 5}, {13, 5, 3, 5}, true, riders);
    add(conv(1, 1, 2), {1, 9, 9, 16}, {24, 3, 3, 8}, true, riders);
    add(conv(2, 1, 3), {1, 9, 9, 9}, {6, 3, 3, 3}, true, riders);
    add(conv(1, 2, 8, 2), {1, 8, 9, 8}, {8, 3, 3, 1}, false, riders);
    for (const int stride : {1, 2, 3}) add(conv(stride, 2, 9), {3, 14, 15, 9}, {9, 5, 5, 1}, true, riders);
  }
  add(conv(1, 1), {1, 19, 18, 256}, {16, 3, 3, 256}, true, gate);
  add(uneven, {1, 9, 11, 42}, {12, 3, 3, 42}, true, residual);
  force_all(cases, fbs::OpParams::Conv2d, 5);
}

TEST(Alternatives, OfConvTranspose2d) {
  fbs::ConvTranspose2dT twice;
  twice.stride_h = twice.stride_w = 2;
  twice.pad_top = twice.pad_left = twice.pad_bottom = twice.pad_right = 1;
  fbs::ConvTranspose2dT odd = twice;
  odd.stride_w = 3;
  odd.dilation_h = 2;
  odd.dilation_w = 2;
  odd.pad_left = 0;
  odd.output_padding_w = 2;
  odd.output_max = 0.25f;
  fbs::ConvTranspose2dT groups = twice, plain;
  groups.groups = 2;
  std::vector<std::unique_ptr<Case>> cases;
  for (const Riders riders : kRiders) {
    cases.push_back(std::make_unique<Case>(twice, Shape{1, 7, 8, 17}, Shape{10, 4, 4, 17}, true, riders));
    cases.push_back(std::make_unique<Case>(odd, Shape{3, 6, 7, 5}, Shape{8, 3, 3, 5}, true, riders));
    cases.push_back(std::make_unique<Case>(groups, Shape{1, 7, 8, 16}, Shape{16, 3, 3, 8}, false, riders));
    cases.push_back(std::make_unique<Case>(groups, Shape{1, 5, 5, 6}, Shape{10, 3, 3, 3}, true, riders));
    cases.push_back(std::make_unique<Case>(plain, Shape{2, 1, 1, 8}, Shape{3, 2, 2, 8}, true, riders));
  }
  force_all(cases, fbs::OpParams::ConvTranspose2d);
}

}  // namespace
}  // namespace ferry::testing
