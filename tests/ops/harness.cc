#include "tests/ops/harness.h"

#include <sys/mman.h>
#include <unistd.h>

#include "sdk/threads/pool.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "converter/pack/pack.h"
#include "converter/quantize/quantize.h"
#include "converter/reference/interpreter.h"
#include "sdk/cpu/backend/op.h"
#include "sdk/cpu/elementwise/float16.h"
#include "sdk/model/model.h"
#include "sdk/operators/shape_rules.h"
#include "tests/ops/gpu_runs.h"
#include "tests/support/gpus.h"

namespace ferry::testing {
namespace {

// Memory aligned like the session's arena. At most kAlignment bytes after its end is a protected page, so that stray
// reads crash, even on emulated CPUs without sanitizers.
class Buffer {
 public:
  explicit Buffer(size_t bytes) : page_(static_cast<size_t>(sysconf(_SC_PAGESIZE))) {
    const size_t size = (bytes + kAlignment) / kAlignment * kAlignment;
    const size_t inner = (size + page_ - 1) / page_ * page_;
    mapped_ = inner + 2 * page_;
    void* const memory = mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) std::abort();
    begin_ = static_cast<std::byte*>(memory);
    if (mprotect(begin_ + page_, inner, PROT_READ | PROT_WRITE) != 0) std::abort();
    data_ = begin_ + page_ + inner - size;
  }
  ~Buffer() { munmap(begin_, mapped_); }
  Buffer(const Buffer&) = delete;
  void* data() { return data_; }

 private:
  size_t page_, mapped_;
  std::byte *begin_, *data_;
};

// Shared by tests: starting threads takes longer than most runs.
Pool* pool_of(int threads) {
  static const std::unique_ptr<Pool> one = Pool::create(1, nullptr), three = Pool::create(3, nullptr);
  return threads == 1 ? one.get() : three.get();
}

// The float16 of a value below 65536, truncated.
uint16_t to_float16(double value) {
  const unsigned sign = value < 0 ? 0x8000u : 0u;
  const double magnitude = std::fabs(value);
  if (magnitude < 0x1p-14) return static_cast<uint16_t>(sign | static_cast<unsigned>(magnitude * 0x1p24));
  int exponent = 0;
  const auto mantissa = static_cast<unsigned>(std::frexp(magnitude, &exponent) * 2048);  // 11 bits
  return static_cast<uint16_t>(sign | static_cast<unsigned>(exponent + 14) << 10 | (mantissa & 1023u));
}

double half_value(uint16_t half) {
  const int exponent = (half >> 10) & 31, mantissa = half & 1023;
  const double magnitude = exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
  return (half & 0x8000) != 0 ? -magnitude : magnitude;
}

struct Data {
  std::vector<float> floats;     // as the op sees it; Int32 as bits
  reference::Array array;        // as the oracle sees it
  std::vector<uint16_t> halves;  // as the blob stores it, if float16
};

Data generate(const Operand& operand, bool halves, std::mt19937& random) {
  Data data;
  data.array.shape = operand.shape;
  if (operand.dtype == fbs::DType::Int32) data.array.dtype = fbs::DType::Int32;
  for (int64_t i = 0; i < operand.shape.elements(); ++i) {
    // Not std::uniform_real_distribution, which differs between libraries.
    const double unit = static_cast<double>(random()) / 4294967296.0;
    const bool given = !operand.values.empty();
    if (given || operand.dtype == fbs::DType::Int32) {
      const double value = given ? operand.values[static_cast<size_t>(i)]
                                 : std::floor(operand.low + (operand.high - operand.low) * unit);
      data.array.values.push_back(value);
      data.floats.push_back(operand.dtype == fbs::DType::Int32 ? std::bit_cast<float>(static_cast<int32_t>(value))
                                                               : static_cast<float>(value));
      continue;
    }
    float value = static_cast<float>(operand.low + (operand.high - operand.low) * unit);
    if (halves || operand.dtype == fbs::DType::Float16) {
      data.halves.push_back(to_float16(static_cast<double>(value)));
      value = static_cast<float>(half_value(data.halves.back()));
    }
    data.floats.push_back(value);
    data.array.values.push_back(static_cast<double>(value));
  }
  return data;
}

struct How {
  const char* name;
  int threads = 1;
  int in_place = -1;     // the input that shares its memory with the output
  bool resized = false;  // after other input sizes
  cpu::CpuFeatures cpu = cpu::cpu_features();
  bool half = false;  // in float16, if the operator computes in it
};

// Plans the operator for larger inputs, if it allows them.
void reshape_larger(const Model& model, const fbs::Operator& op, std::vector<Shape> shapes, Pool* pool,
                    cpu::Op* lowered) {
  for (size_t i = 0; i < shapes.size(); ++i) {
    if (model.is_constant(op.inputs()->Get(static_cast<unsigned>(i)))) continue;
    for (int d = 0; d + 1 < shapes[i].rank; ++d)
      if (shapes[i][d] > 1) shapes[i][d] += 2;
  }
  Shape output_shape;
  uint64_t workspace_bytes = 0;
  if (!infer_shape(op, shapes, &output_shape).ok()) return;
  const Status status = lowered->reshape(shapes, output_shape, pool, &workspace_bytes);
  EXPECT_TRUE(status.ok()) << status.message();
}

// Converts values to and from the operator's element type.
std::vector<std::byte> in_memory(const std::vector<float>& values, bool half) {
  std::vector<std::byte> bytes(values.size() * (half ? sizeof(cpu::Float16) : sizeof(float)));
  if (half)
    cpu::narrow(values.data(), reinterpret_cast<cpu::Float16*>(bytes.data()), values.size());
  else
    std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

std::vector<float> from_memory(const void* memory, size_t count, bool half) {
  std::vector<float> values(count);
  if (half)
    cpu::widen(cpu::float16s(memory), values.data(), count);
  else
    std::memcpy(values.data(), memory, count * sizeof(float));
  return values;
}

// One run of the model's only operator. *out stays empty if it correctly refuses float16.
Status run(const Model& model, const std::vector<Data>& data, const How& how, std::vector<float>* out) {
  const fbs::Operator& op = *model.graph().operators()->Get(0);
  std::vector<Shape> shapes;
  for (const Data& d : data) shapes.push_back(d.array.shape);
  Shape output_shape;
  FERRY_TRY(infer_shape(op, shapes, &output_shape));
  const size_t count = static_cast<size_t>(output_shape.elements());

  Pool* const pool = pool_of(how.threads);
  std::unique_ptr<cpu::Op> lowered;
  uint64_t workspace_bytes = 0;
  FERRY_TRY(cpu::initialize());
  if (how.half) {
    FERRY_TRY(cpu::create_float16_op(how.cpu, model, op, &lowered));
    if (lowered == nullptr) return {};
  } else {
    FERRY_TRY(cpu::create_op(how.cpu, model, op, &lowered));
  }
  if (how.resized) reshape_larger(model, op, shapes, pool, lowered.get());
  FERRY_TRY(lowered->reshape(shapes, output_shape, pool, &workspace_bytes));

  constexpr unsigned char kUntouched = 0xa5;
  const size_t output_bytes = count * (how.half ? sizeof(cpu::Float16) : sizeof(float));
  Buffer output(output_bytes + kExtraBytes);
  std::memset(output.data(), kUntouched, output_bytes + kExtraBytes);
  Buffer workspace(workspace_bytes + kExtraBytes);
  std::vector<std::unique_ptr<Buffer>> buffers;
  std::vector<const void*> addresses;
  for (size_t i = 0; i < data.size(); ++i) {
    const TensorId tensor = op.inputs()->Get(static_cast<unsigned>(i));
    if (model.is_constant(tensor)) {
      addresses.push_back(model.constant(tensor).data());
      continue;
    }
    const bool is_float16 = how.half && model.tensor(tensor).dtype() == fbs::DType::Float32;
    const std::vector<std::byte> numbers = in_memory(data[i].floats, is_float16);
    const size_t bytes = numbers.size();
    buffers.push_back(std::make_unique<Buffer>(bytes + kExtraBytes));
    void* memory = static_cast<int>(i) == how.in_place ? output.data() : buffers.back()->data();
    std::memcpy(memory, numbers.data(), bytes);
    std::memset(static_cast<char*>(memory) + bytes, 0xff, kExtraBytes);  // NaN in bytes that an op may read but not use
    if (memory == output.data()) std::memset(static_cast<char*>(memory) + bytes, kUntouched, kExtraBytes);
    addresses.push_back(memory);
  }
  FERRY_TRY(lowered->setup(addresses, output.data(), workspace.data()));
  FERRY_TRY(lowered->run(pool));

  *out = from_memory(output.data(), count, how.half);
  for (size_t i = 0; i < kExtraBytes; ++i)
    if (static_cast<unsigned char*>(output.data())[output_bytes + i] != kUntouched)
      return error(FERRY_BACKEND_ERROR, "byte %zu after the output was written", i);
  return {};
}

// The elements that share a scale in a stack of matrices, as with `ferry convert --weights i8`.
int block_of(const Shape& shape) {
  const int32_t row = shape[shape.rank - 1];
  return row % kInt4Block == 0 ? kInt4Block : row;
}

// A blob of one operator, its operands' values, and the oracle's result. `halves`: all values are float16.
struct Case {
  Case(const fbs::OpParamsUnion& params, const std::vector<Operand>& operands, bool halves);
  std::vector<std::vector<float>> inputs() const;
  bool quantized() const {
    return std::any_of(data.begin(), data.end(), [](const Data& d) { return d.array.quantized; });
  }
  reference::Array compute(const fbs::OperatorT& op) const;

  std::vector<Data> data;
  std::vector<bool> constant;
  reference::Array expected, expected_on_gpu;  // for a CPU, which quantizes rows, and for a GPU, which does not
  std::vector<std::byte> bytes;
  std::unique_ptr<Buffer> blob;
  std::shared_ptr<Model> model;  // null if it could not be opened
};

// Replaces a constant by integers near its values, all of them possible, in blocks of 32. Scales are of either sign,
// some subnormal, and 0 in the third block.
void store_blocks(Graph& graph, TensorId tensor, fbs::DType dtype) {
  constexpr size_t kBlock = 32;
  const std::vector<double> values = graph.values(tensor);
  const int highest = dtype == fbs::DType::Int4 ? 7 : 127;
  std::vector<uint8_t> integers(values.size() * bits_of(dtype) / 8);
  std::vector<uint16_t> scales;
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t block = i / kBlock;
    if (i % kBlock == 0)
      scales.push_back(block == 2       ? 0
                       : block % 5 == 4 ? static_cast<uint16_t>(0x200 + block % 64)
                                        : to_float16((block % 2 == 0 ? 1.0 : -1.0) / highest));
    const auto integer =
        static_cast<int>(std::clamp(std::round(values[i] * (highest + 1)), -highest - 1.0, highest + 0.0));
    if (dtype == fbs::DType::Int8)
      integers[i] = static_cast<uint8_t>(integer);
    else
      integers[i / 2] = static_cast<uint8_t>(integers[i / 2] | (integer & 15) << (i % 2 * 4));
  }
  graph.store_integers(graph.at(tensor).buffer, {.dtype = dtype, .block = kBlock}, hold(std::move(integers)),
                       hold(std::move(scales)), fbs::DType::Float16);
}

Case::Case(const fbs::OpParamsUnion& params, const std::vector<Operand>& operands, bool halves) {
  std::mt19937 random(20261121);
  Graph graph;
  std::vector<TensorId> tensors;
  for (size_t i = 0; i < operands.size(); ++i) {
    data.push_back(generate(operands[i], halves, random));
    constant.push_back(operands[i].constant);
    const std::string name = "operand" + std::to_string(i);
    if (!operands[i].constant) {
      tensors.push_back(graph.add_input(name, operands[i].shape, fbs::Layout::Same, operands[i].dtype).id);
    } else if (operands[i].dtype == fbs::DType::Float16) {
      auto owner = std::make_shared<const std::vector<uint16_t>>(data[i].halves);
      const Constant packed{owner, std::as_bytes(std::span(*owner))};
      tensors.push_back(graph.add_constant(name, fbs::DType::Float16, operands[i].shape, packed).id);
    } else if (operands[i].dtype == fbs::DType::Int32) {
      std::vector<int32_t> values(data[i].array.values.begin(), data[i].array.values.end());
      tensors.push_back(graph.add_constant(name, operands[i].shape, std::move(values)).id);
    } else {
      tensors.push_back(graph.add_constant(name, operands[i].shape, data[i].floats).id);
      const bool stacked = params.type == fbs::OpParams::Experts;
      if (operands[i].float16_scales)
        store_blocks(graph, tensors.back(), operands[i].dtype);
      else if (operands[i].dtype == fbs::DType::Int8)
        quantize_to_int8(graph, graph.at(tensors.back()), stacked ? block_of(operands[i].shape) : 0);
      else if (operands[i].dtype == fbs::DType::Int4)
        quantize_to_int4(graph, graph.at(tensors.back()));
      if (graph.type(tensors.back()).quantized) data[i].array = reference::constant(graph, tensors.back());
    }
  }
  auto op = std::make_unique<fbs::OperatorT>();
  op->name = "op";
  op->params = params;
  op->inputs.assign(tensors.begin(), tensors.end());
  expected = expected_on_gpu = compute(*op);
  for (Data& d : data) d.array.rounds_rows = d.array.quantized;
  if (quantized()) expected = compute(*op);

  auto tensor = std::make_unique<fbs::TensorT>();
  tensor->name = "output";
  tensor->dtype = expected.dtype;
  tensor->shape.assign(expected.shape.dims.begin(), expected.shape.dims.begin() + expected.shape.rank);
  graph.table.tensors.push_back(std::move(tensor));
  const TensorId output = tensor_at(graph.table.tensors.size() - 1);
  op->outputs.push_back(output);
  graph.table.operators.push_back(std::move(op));
  graph.add_output("output", {&graph, output}, fbs::Layout::Same);

  bytes = pack(graph);
  blob = std::make_unique<Buffer>(bytes.size());
  std::memcpy(blob->data(), bytes.data(), bytes.size());
  const Status status = Model::open_memory(blob->data(), bytes.size(), &model);
  EXPECT_TRUE(status.ok()) << status.message();
}

reference::Array Case::compute(const fbs::OperatorT& op) const {
  std::vector<const reference::Array*> arrays;
  for (const Data& d : data) arrays.push_back(&d.array);
  const SerializedOp serialized(op);
  return reference::compute(*serialized, arrays);
}

std::vector<std::vector<float>> Case::inputs() const {
  std::vector<std::vector<float>> values;
  for (size_t i = 0; i < data.size(); ++i)
    if (!constant[i]) values.push_back(data[i].floats);
  return values;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// In float16, on a CPU with float16 arithmetic.
void expect_float16s_like_oracle(const Case& made) {
  std::vector<float> first;
  for (const How& how : {How{.name = "1 thread", .half = true}, How{.name = "3 threads", .threads = 3, .half = true},
                         How{.name = "resized", .resized = true, .half = true}}) {
    std::vector<float> values;
    const Status status = run(*made.model, made.data, how, &values);
    EXPECT_TRUE(status.ok()) << "float16, " << how.name << ": " << status.message();
    if (values.empty()) return;  // float32 only
    if (first.empty()) first = values;
    EXPECT_TRUE(same_bits(values, first)) << "float16, " << how.name << ": other bits than at first";
  }
  EXPECT_LE(normalised_squared_error(numbers(first, made.expected.dtype), made.expected.values), kFloat16Bound)
      << "in float16, " << EnumNameOpParams(made.model->graph().operators()->Get(0)->params_type()) << " with input "
      << to_string(made.data[0].array.shape);
}

}  // namespace

std::vector<double> numbers(const std::vector<float>& memory, fbs::DType dtype) {
  std::vector<double> values(memory.begin(), memory.end());
  if (dtype != fbs::DType::Int32) return values;
  for (size_t i = 0; i < values.size(); ++i) values[i] = std::bit_cast<int32_t>(memory[i]);
  return values;
}

double normalised_error(const std::vector<double>& got, const std::vector<double>& expected) {
  double largest = 0, error = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    largest = std::max(largest, std::fabs(expected[i]));
    const double difference = got[i] == expected[i] ? 0 : std::fabs(got[i] - expected[i]);
    if (!std::isfinite(difference)) return std::numeric_limits<double>::infinity();
    error = std::max(error, difference);
  }
  return largest > 0 ? error / largest : error;
}

// True if GPUs leave an operator with these integers to the CPU: all except expert indices, and indices into rows of
// floats.
bool leaves_integers(const fbs::OpParamsUnion& params, const std::vector<Operand>& operands) {
  const fbs::GatherT* gather = params.AsGather();
  const fbs::ScatterT* scatter = params.AsScatter();
  const bool integers = std::any_of(operands.begin(), operands.end(),
                                    [](const Operand& operand) { return operand.dtype == fbs::DType::Int32; });
  if (!integers || params.type == fbs::OpParams::Experts) return false;
  if (gather == nullptr && scatter == nullptr) return true;
  const fbs::GatherKind kind = gather != nullptr ? gather->kind : scatter->where;
  const int axis = gather != nullptr ? gather->axis : scatter->axis;
  const Shape &x = operands[0].shape, &places = operands[1].shape;
  const auto rows = [](const Shape& shape) { return shape.elements() / shape[shape.rank - 1]; };
  return kind != fbs::GatherKind::Elements || operands[0].dtype != fbs::DType::Float32 || operands[1].constant ||
         axis != x.rank - 1 || rows(x) != rows(places) || (scatter != nullptr && places[axis] > 256);
}

std::vector<float> expect_like_oracle(const fbs::OpParamsUnion& params, const std::vector<Operand>& operands,
                                      double bound, std::optional<double> gpu_bound, bool left_to_cpu) {
  const Case made(params, operands, false);
  if (made.model == nullptr) return {};
  std::vector<float> first;
  const auto run_again = [&](const How& how) {
    std::vector<float> output_values;
    if (const Status status = run(*made.model, made.data, how, &output_values); !status.ok()) {
      ADD_FAILURE() << how.name << ": " << status.message();
      return;
    }
    if (first.empty()) first = output_values;
    EXPECT_TRUE(same_bits(output_values, first)) << how.name << ": other bits than at first";
  };
  run_again({.name = "1 thread"});
  if (first.empty()) return {};
  run_again({.name = "3 threads", .threads = 3});
  run_again({.name = "resized", .resized = true});
  for (size_t i = 0; i < operands.size(); ++i)
    if (!operands[i].constant && operands[i].shape.elements() == made.expected.shape.elements() &&
        may_run_in_place(made.model->graph().operators()->Get(0)->params_type(), static_cast<unsigned>(i)))
      run_again({.name = "in place", .threads = 3, .in_place = static_cast<int>(i)});
  const auto expect_within_bound = [&](const std::vector<float>& values, const char* kernels) {
    EXPECT_LE(normalised_error(numbers(values, made.expected.dtype), made.expected.values), bound)
        << EnumNameOpParams(params.type) << " with input " << to_string(operands[0].shape) << ", " << kernels;
  };
  expect_within_bound(first, "this CPU's kernels");
  const cpu::CpuFeatures& here = cpu::cpu_features();
  const auto expect_as = [&](const cpu::CpuFeatures& other, const char* kernels) {
    std::vector<float> values;
    const Status status = run(*made.model, made.data, {.name = kernels, .cpu = other}, &values);
    EXPECT_TRUE(status.ok()) << status.message();
    if (status.ok()) expect_within_bound(values, kernels);
  };
  if (here.avx2 || here.avx512f || here.out_of_order || here.in_order) expect_as({}, "a plain CPU's kernels");
  if (here.avx512f) expect_as({.avx2 = true, .float16 = true}, "kernels for AVX2");
  if (here.dot_products) expect_as({.out_of_order = true}, "kernels without dot products");
  left_to_cpu = left_to_cpu || leaves_integers(params, operands);
  left_to_cpu = left_to_cpu || (made.expected.dtype == fbs::DType::Int32 && params.type != fbs::OpParams::TopK);
  const std::vector<double> got = numbers(first, made.expected.dtype);
  const std::vector<float> result(got.begin(), got.end());
  if (here.float16) {
    const Case halves(params, operands, true);
    if (halves.model != nullptr) expect_float16s_like_oracle(halves);
  }
  if (test_gpus().empty()) return result;
  const auto expected = [&](const Case& c) { return left_to_cpu ? c.expected : c.expected_on_gpu; };
  expect_on_gpus(made.model, made.inputs(), expected(made), FERRY_PRECISION_FLOAT32, gpu_bound.value_or(bound),
                 left_to_cpu);
  if (left_to_cpu && made.quantized())
    return result;  // a float16 rounding error may change a quantized row by a whole
                    // step
  // Vulkan does not guarantee float16 infinities, but sorting needs them.
  const auto finite = [](const Data& d) {
    return std::all_of(d.floats.begin(), d.floats.end(), [](float value) { return std::isfinite(value); });
  };
  if (params.type == fbs::OpParams::TopK && !std::all_of(made.data.begin(), made.data.end(), finite)) return result;
  const Case halves(params, operands, true);
  expect_on_gpus(halves.model, halves.inputs(), expected(halves), FERRY_PRECISION_FLOAT16, kFloat16Bound, left_to_cpu);
  return result;
}

std::vector<double> counting(size_t count) {
  std::vector<double> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<double>(i);
  return values;
}

}  // namespace ferry::testing
