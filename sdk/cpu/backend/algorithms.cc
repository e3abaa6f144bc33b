#include "sdk/cpu/backend/algorithms.h"

#include "sdk/cpu/backend/lowerings.h"
#include "sdk/cpu/depthwise/depthwise.h"
#include "sdk/cpu/gemm/winograd.h"
#include "sdk/cpu/ops/linear_quantized.h"
#include "sdk/operators/built_in.h"
#include "sdk/operators/pointwise.h"

namespace ferry::cpu {
namespace {

using fbs::OpParams;

bool any(const Weighted&) { return true; }
bool one_group(const Weighted& w) { return w.op.params_as_Conv2d()->groups() == 1; }
bool pointwise(const Weighted& w) { return is_pointwise(*w.op.params_as_Conv2d(), w.weight); }
bool depthwise(const Weighted& w) { return depthwise_applies(w.cpu, *w.op.params_as_Conv2d(), w.weight); }
bool float16_depthwise(const Weighted& w) {
  return float16_depthwise_applies(w.cpu, *w.op.params_as_Conv2d(), w.weight);
}

bool gemm_costs_less(const Weighted& w) { return gemm_pays(w.cpu, w.rows, w.gemm); }
bool winograd_costs_less(const Weighted& w) { return winograd_tile(*w.op.params_as_Conv2d(), w.weight, w.output) != 0; }

Status by_gemm(const Weighted& w, std::unique_ptr<Op>* out) {
  WeightSource source(w.model, w.op);
  return create_gemm(w.cpu, w.gemm, source, out);
}

Status by_conv_gemm(const Weighted& w, std::unique_ptr<Op>* out) {
  WeightSource source(w.model, w.op);
  return create_conv_gemm(w.cpu, *w.op.params_as_Conv2d(), w.weight, w.gemm, source, out);
}

Status by_depthwise(const Weighted& w, std::unique_ptr<Op>* out) {
  WeightSource source(w.model, w.op);
  return create_depthwise(w.cpu, *w.op.params_as_Conv2d(), w.weight, source, out);
}

Status by_float16_depthwise(const Weighted& w, std::unique_ptr<Op>* out) {
  WeightSource source(w.model, w.op);
  return create_float16_depthwise(*w.op.params_as_Conv2d(), w.weight, source, out);
}

Status by_winograd(const Weighted& w, std::unique_ptr<Op>* out) {
  const int tile = winograd_tile(*w.op.params_as_Conv2d(), w.weight, w.output);
  return create_winograd(w.cpu, w.model, w.op, tile, out);
}

using Test = bool (*)(const Weighted&);
using Create = Status (*)(const Weighted&, std::unique_ptr<Op>* out);

// Null where the library was built without the parts: the linker then leaves the algorithm out.
template <typename... Parts>
consteval Create with(Create create, Parts... parts) {
  return (built_in(parts) && ...) ? create : nullptr;
}

// The weights, and the arithmetic. No row has quantised weights in float16: the backend then computes the operator in
// float32.
enum Operands : uint8_t {
  kFloatWeights = 1,      // in float32
  kQuantizedWeights = 2,  // in float32, dequantised, or as integers
  kInFloat32 = kFloatWeights | kQuantizedWeights,
  kInFloat16 = 4,
  kInInt8 = 8,  // activations, too
  kInEither = kInFloat32 | kInFloat16
};

Operands operands_of(const Weighted& w) {
  if (w.model.tensor(w.op.inputs()->Get(0)).dtype() == fbs::DType::Int8) return kInInt8;
  const bool quantized = type_of(w.model.tensor(w.op.inputs()->Get(1))).quantized;
  if (w.float16) return quantized ? Operands() : kInFloat16;
  return quantized ? kQuantizedWeights : kFloatWeights;
}

struct Algorithm {
  const char* name;
  OpParams op;
  Operands operands;
  Test applies;     // to this operator, on this CPU
  Test costs_less;  // than the rows below, at the declared size
  Create create;    // leaves *out null where it declines after all
};

// The first row that applies and costs less computes the operator.
constexpr OpParams kConv = OpParams::Conv2d, kTransposed = OpParams::ConvTranspose2d, kLinear = OpParams::Linear;
constexpr Algorithm kAlgorithms[] = {
    {"integers", kConv, kQuantizedWeights, linear_quantized_applies, any,
     with(create_linear_quantized, kConv, Feature::Integers)},
    {"winograd", kConv, kInFloat32, any, winograd_costs_less, with(by_winograd, kConv, Feature::Winograd)},
    {"gemm", kConv, kInEither, pointwise, gemm_costs_less, with(by_gemm, kConv)},
    {"conv_gemm", kConv, kInEither, one_group, gemm_costs_less, with(by_conv_gemm, kConv)},
    {"depthwise", kConv, kInFloat32, depthwise, any, with(by_depthwise, kConv)},
    {"depthwise", kConv, kInFloat16, float16_depthwise, any, with(by_float16_depthwise, kConv, Feature::Float16)},
    {"xnnpack", kConv, kInEither, xnnpack_conv2d_applies, any, with(create_xnnpack_conv2d, kConv)},
    {"depthwise", kConv, kInInt8, int8_depthwise_applies, any,
     with(create_int8_depthwise, kConv, OpParams::Requantize)},
    {"xnnpack", kConv, kInInt8, any, any, with(create_int8_conv2d, kConv, OpParams::Requantize)},

    {"gemm", kTransposed, kInEither, windows_are_apart, gemm_costs_less,
     with(create_conv_transpose2d_by_gemm, kTransposed)},
    {"xnnpack", kTransposed, kInFloat32, any, any, with(create_xnnpack_conv_transpose2d, kTransposed)},

    {"integers", kLinear, kQuantizedWeights, linear_quantized_applies, any,
     with(create_linear_quantized, kLinear, Feature::Integers)},
    {"gemm", kLinear, kInEither, any, gemm_costs_less, with(by_gemm, kLinear)},
    {"xnnpack", kLinear, kInEither, xnnpack_linear_applies, any, with(create_xnnpack_linear, kLinear)},
    {"xnnpack", kLinear, kInInt8, any, any, with(create_int8_linear, kLinear, OpParams::Requantize)},
};

bool chosen(const Algorithm& algorithm, const Weighted& w) {
  return algorithm.create != nullptr && algorithm.op == w.op.params_type() &&
         (algorithm.operands & operands_of(w)) != 0 && algorithm.applies(w) && algorithm.costs_less(w);
}

Status create(const Weighted& w, std::unique_ptr<Op>* out) {
  for (const Algorithm& algorithm : kAlgorithms) {
    if (!chosen(algorithm, w)) continue;
    FERRY_TRY(algorithm.create(w, out));
    if (*out != nullptr) return {};
  }
  return {};
}

Gemm gemm_of(const fbs::Operator& op, const Shape& weight, bool float16) {
  // Outputs of a window's product: the output's channels, or all values of a transposed convolution's window.
  const int last = op.params_type() == kTransposed ? weight.rank - 1 : 1;
  Gemm gemm{1, elements(weight, last, weight.rank), elements(weight, 0, last)};
  if (const fbs::Conv2d* conv = op.params_as_Conv2d())
    gemm.output_min = conv->output_min(), gemm.output_max = conv->output_max();
  else if (const fbs::ConvTranspose2d* transposed = op.params_as_ConvTranspose2d())
    gemm.output_min = transposed->output_min(), gemm.output_max = transposed->output_max();
  else if (const fbs::Linear* linear = op.params_as_Linear())
    gemm.output_min = linear->output_min(), gemm.output_max = linear->output_max();
  gemm.float16 = float16;
  return gemm;
}

}  // namespace

Weighted weighted(const CpuFeatures& cpu, const Model& model, const fbs::Operator& op, bool float16) {
  const Shape input = model.shape(op.inputs()->Get(0)), weight = model.shape(op.inputs()->Get(1));
  const Shape output = model.shape(op.outputs()->Get(0));
  const Shape& of_rows = op.params_type() == kTransposed ? input : output;
  return {
      cpu, model, op, float16, weight, output, gemm_of(op, weight, float16), elements(of_rows, 0, of_rows.rank - 1)};
}

const char* algorithm_of(const Weighted& op) {
  for (const Algorithm& algorithm : kAlgorithms)
    if (chosen(algorithm, op)) return algorithm.name;
  return "none";
}

Status create_conv2d(const CpuFeatures& cpu, const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  return create(weighted(cpu, model, op, /*float16=*/false), out);
}

Status create_conv_transpose2d(const CpuFeatures& cpu, const Model& model, const fbs::Operator& op,
                               std::unique_ptr<Op>* out) {
  return create(weighted(cpu, model, op, /*float16=*/false), out);
}

Status create_linear(const CpuFeatures& cpu, const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  return create(weighted(cpu, model, op, /*float16=*/false), out);
}

Status create_float16_conv2d(const CpuFeatures& cpu, const Model& model, const fbs::Operator& op,
                             std::unique_ptr<Op>* out) {
  return create(weighted(cpu, model, op, /*float16=*/true), out);
}

Status create_float16_linear(const CpuFeatures& cpu, const Model& model, const fbs::Operator& op,
                             std::unique_ptr<Op>* out) {
  return create(weighted(cpu, model, op, /*float16=*/true), out);
}

Status create_float16_conv_transpose2d(const CpuFeatures& cpu, const Model& model, const fbs::Operator& op,
                                       std::unique_ptr<Op>* out) {
  return create(weighted(cpu, model, op, /*float16=*/true), out);
}

}  // namespace ferry::cpu
