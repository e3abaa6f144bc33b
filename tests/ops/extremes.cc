#include "tests/ops/extremes.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>

#include "converter/pack/pack.h"
#include "sdk/cpu/backend/op.h"
#include "sdk/cpu/elementwise/float16.h"
#include "sdk/threads/pool.h"
#include "tests/ops/gpu_runs.h"
#include "tests/support/blobs.h"
#include "tests/support/gpus.h"

namespace ferry::testing {
namespace {

constexpr double kFloat16Maximum = 65504, kFloat16Minimum = 0x1p-14;

// The number format of a result.
struct Format {
  double maximum, minimum;
};
constexpr Format kFloat32{static_cast<double>(kMaximum), static_cast<double>(kMinimum)};
constexpr Format kFloat16{kFloat16Maximum, kFloat16Minimum};

bool is_right(double got, double expected, const Tolerance& t, const Format& format) {
  if (std::isnan(expected)) return std::isnan(got);
  if (got == expected) return true;
  const double size = std::fabs(expected), slack = t.relative * size + t.absolute;
  if (size + slack >= format.maximum && got == std::copysign(HUGE_VAL, expected)) return true;
  if (size > format.maximum * (1 + t.relative + 1e-7)) return false;  // an infinity
  return std::fabs(got - expected) <= slack + (size < format.minimum ? format.minimum : 0);
}

struct Values {
  std::vector<reference::Array> inputs;
  reference::Array expected;
};

// `flush`: denormals as 0.
Values values_of(const fbs::OpParamsUnion& params, const std::vector<ExtremeOperand>& operands, bool flush) {
  Values all;
  for (const ExtremeOperand& operand : operands) {
    reference::Array array{operand.shape, {operand.values.begin(), operand.values.end()}};
    for (double& v : array.values)
      if (flush && std::fabs(v) < static_cast<double>(kMinimum)) v = std::copysign(0.0, v);
    all.inputs.push_back(std::move(array));
  }
  std::vector<const reference::Array*> pointers;
  for (const reference::Array& input : all.inputs) pointers.push_back(&input);
  fbs::OperatorT op;
  op.params = params;
  const SerializedOp serialized(op);
  all.expected = reference::compute(*serialized, pointers);
  return all;
}

// The operator's blob, and the right values.
struct Extremes {
  Extremes(const fbs::OpParamsUnion& params, const AddOperator& add, const std::vector<ExtremeOperand>& all)
      : operands(all), exact(values_of(params, all, false)), flushed(values_of(params, all, true)) {
    Graph graph;
    std::vector<Tensor> tensors;
    for (const ExtremeOperand& operand : operands) {
      const std::string name = "operand" + std::to_string(tensors.size());
      tensors.push_back(operand.constant ? graph.add_constant(name, operand.shape, operand.values)
                                         : graph.add_input(name, operand.shape, fbs::Layout::Same));
    }
    graph.add_output("y", add(graph, tensors), fbs::Layout::Same);
    blob = std::make_unique<AlignedBytes>(pack(graph));
    const Status status = Model::open_memory(blob->data(), blob->size(), &model);
    EXPECT_TRUE(status.ok()) << status.message();
  }

  const std::vector<ExtremeOperand>& operands;
  const Values exact, flushed;
  std::unique_ptr<AlignedBytes> blob;
  std::shared_ptr<Model> model;
};

// One run by the kernels for a CPU. *out stays empty if there is no float16 lowering.
Status run_on_cpu(const Extremes& c, const cpu::CpuFeatures& features, bool float16, std::vector<float>* out) {
  static const std::unique_ptr<Pool> pool = Pool::create(1, nullptr);
  const fbs::Operator& op = *c.model->graph().operators()->Get(0);
  FERRY_TRY(cpu::initialize());
  std::unique_ptr<cpu::Op> lowered;
  if (float16)
    FERRY_TRY(cpu::create_float16_op(features, *c.model, op, &lowered));
  else
    FERRY_TRY(cpu::create_op(features, *c.model, op, &lowered));
  if (lowered == nullptr) return {};
  std::vector<Shape> shapes;
  for (const ExtremeOperand& operand : c.operands) shapes.push_back(operand.shape);
  const Shape& shape = c.exact.expected.shape;
  uint64_t workspace_bytes = 0;
  FERRY_TRY(lowered->reshape(shapes, shape, pool.get(), &workspace_bytes));
  std::vector<std::unique_ptr<AlignedBytes>> memory;
  const auto room = [&](size_t bytes) {
    const std::vector<std::byte> zeros(bytes + kExtraBytes);
    memory.push_back(std::make_unique<AlignedBytes>(zeros));
    return memory.back()->data();
  };
  std::vector<const void*> inputs;
  for (size_t i = 0; i < c.operands.size(); ++i) {
    const std::vector<float>& values = c.operands[i].values;
    const TensorId tensor = op.inputs()->Get(static_cast<unsigned>(i));
    if (c.model->is_constant(tensor)) {
      inputs.push_back(c.model->constant(tensor).data());
      continue;
    }
    std::byte* const at = room(values.size() * sizeof(float));
    if (float16)
      cpu::narrow(values.data(), reinterpret_cast<cpu::Float16*>(at), values.size());
    else
      std::memcpy(at, values.data(), values.size() * sizeof(float));
    inputs.push_back(at);
  }
  const auto count = static_cast<size_t>(shape.elements());
  std::byte* const output = room(count * sizeof(float));
  FERRY_TRY(lowered->setup(inputs, output, room(workspace_bytes)));
  FERRY_TRY(lowered->run(pool.get()));
  out->resize(count);
  if (float16)
    cpu::widen(cpu::float16s(output), out->data(), count);
  else
    std::memcpy(out->data(), output, count * sizeof(float));
  return {};
}

Status run_on_gpu(const Extremes& c, const std::string& gpu, std::vector<float>* out) {
  std::unique_ptr<Session> session;
  FERRY_TRY(session_on_gpu(c.model, gpu, FERRY_PRECISION_FLOAT32, &session));
  EXPECT_EQ(session->computing().report().cpu_operators, 0u);
  const auto& ports = *c.model->graph().inputs();
  unsigned next = 0;
  for (const ExtremeOperand& operand : c.operands)
    if (!operand.constant)
      std::memcpy(session->data(ports[next++]->tensor()), operand.values.data(), operand.values.size() * sizeof(float));
  FERRY_TRY(session->run());
  const auto* values = static_cast<const float*>(session->data(c.model->graph().outputs()->Get(0)->tensor()));
  out->assign(values, values + c.exact.expected.shape.elements());
  return {};
}

bool is_normal(float x) { return std::isnormal(x) || std::bit_cast<uint32_t>(x) << 1 == 0; }

// Whether a GPU must compute element i like the oracle.
bool counts_on_gpu(const Extremes& c, size_t i, bool whole) {
  if (std::isnan(c.exact.expected.values[i])) return false;
  return std::all_of(c.operands.begin(), c.operands.end(), [&](const ExtremeOperand& operand) {
    if (!whole) return is_normal(operand.values[i]);
    return std::all_of(operand.values.begin(), operand.values.end(), [](float x) { return std::isfinite(x); });
  });
}

bool may_be(double got, Undefined undefined) {
  return undefined == Undefined::IsAny || (undefined == Undefined::IsNaNOrZero && std::fabs(got) < kVanished);
}

void expect_right(const Extremes& c, const std::vector<float>& memory, const Tolerance& tolerance, const Format& format,
                  const Sides& sides, bool on_gpu, const std::string& where) {
  const std::vector<double> got = numbers(memory, c.exact.expected.dtype);
  int wrong = 0;
  for (size_t i = 0; i < got.size() && wrong < 8; ++i) {
    const double expected = c.exact.expected.values[i];
    if ((on_gpu && !counts_on_gpu(c, i, sides.whole)) || is_right(got[i], expected, tolerance, format) ||
        is_right(got[i], c.flushed.expected.values[i], tolerance, format) ||
        (std::isnan(expected) && may_be(got[i], sides.undefined)))
      continue;
    ++wrong;
    std::string of;
    for (const ExtremeOperand& operand : c.operands)
      if (!sides.whole) of += " " + std::to_string(operand.values[operand.values.size() == 1 ? 0 : i]);
    ADD_FAILURE() << where << ": element " << i << " of" << of << " is " << got[i] << ", right is " << expected;
  }
}

// What float16 operands round to.
std::vector<ExtremeOperand> rounded(std::vector<ExtremeOperand> operands) {
  for (ExtremeOperand& operand : operands) {
    if (operand.constant) continue;
    std::vector<uint16_t> bits(operand.values.size());
    auto* const halves = reinterpret_cast<cpu::Float16*>(bits.data());
    cpu::narrow(operand.values.data(), halves, bits.size());
    cpu::widen(halves, operand.values.data(), bits.size());
  }
  return operands;
}

}  // namespace

std::vector<float> all_magnitudes() {
  std::vector<float> values = few_magnitudes();
  for (int exponent = -149; exponent < 128; ++exponent)
    for (const float factor : {1.0f, 1.2f, 1.5f, 1.9999999f})
      for (const float sign : {1.0f, -1.0f}) values.push_back(sign * std::ldexp(factor, exponent));
  for (float x = -110; x <= 110; x += 0.3125f) values.push_back(x);
  return values;
}

std::vector<float> few_magnitudes() {
  std::vector<float> values = {kNaN, std::bit_cast<float>(0xffffffffu), kInf, -kInf};
  for (const float x : {0.0f,  1e-45f, 1e-39f, kMinimum, 1e-30f, 1e-6f, 0.3f,  1.0f,    2.0f,    7.0f,
                        88.8f, 1e4f,   5e4f,   1e10f,    1e19f,  5e26f, 1e30f, 8.6e37f, 1.8e38f, kMaximum}) {
    values.push_back(x);
    values.push_back(-x);
  }
  return values;
}

void expect_right_at_extremes(const fbs::OpParamsUnion& params, const AddOperator& add,
                              const std::vector<ExtremeOperand>& operands, const Sides& sides) {
  const Extremes made(params, add, operands);
  if (made.model == nullptr) return;
  std::vector<float> values;
  const cpu::CpuFeatures& here = cpu::cpu_features();
  const auto expect_as = [&](const cpu::CpuFeatures& features, const char* kernels) {
    const Status status = run_on_cpu(made, features, false, &values);
    ASSERT_TRUE(status.ok()) << kernels << ": " << status.message();
    expect_right(made, values, sides.cpu, kFloat32, sides, false, kernels);
  };
  expect_as(here, "this CPU's kernels");
  if (here.avx2 || here.avx512f || here.out_of_order || here.in_order) expect_as({}, "a plain CPU's kernels");
  if (here.avx512f) expect_as({.avx2 = true}, "kernels for AVX2");
  if (here.float16) {
    const std::vector<ExtremeOperand> halves = rounded(operands);
    const Extremes in_half(params, add, halves);
    values.clear();
    const Status status = run_on_cpu(in_half, here, true, &values);
    ASSERT_TRUE(status.ok()) << "float16: " << status.message();
    if (!values.empty()) expect_right(in_half, values, {4e-3, 1e-3}, kFloat16, sides, false, "float16");
  }
  if (!sides.gpu) return;
  for (const std::string& gpu : test_gpus()) {
    const Status status = run_on_gpu(made, gpu, &values);
    ASSERT_TRUE(status.ok()) << gpu << ": " << status.message();
    expect_right(made, values, *sides.gpu, kFloat32, sides, true, gpu);
  }
}

}  // namespace ferry::testing
