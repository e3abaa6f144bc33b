#include "sdk/cpu/elementwise/unary.h"
#include "sdk/threads/xnnpack.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sdk/cpu/backend/features.h"
#include "sdk/cpu/backend/lowerings.h"
#include "sdk/cpu/backend/parallel.h"
#include "sdk/cpu/elementwise/exponential.h"
#include "sdk/cpu/elementwise/float16.h"
#if defined(__x86_64__) && defined(__gnu_linux__)
#include "sdk/cpu/elementwise/unary_avx512.h"
#elif defined(__aarch64__)
#include "sdk/cpu/elementwise/unary_neon.h"
#endif
#include "sdk/cpu/xnnpack/operator.h"
#include "sdk/operators/built_in.h"

namespace ferry::cpu {
namespace {

// ---- kinds that XNNPACK lacks or rejects for some parameters --------------------------------------------------------

using Kernel = decltype(Elementwise::kernel);

FERRY_KERNEL void clamp(const float* x, float* y, size_t count, float low, float high) {
  FERRY_INDEPENDENT
  for (size_t i = 0; i < count; ++i) {
    float value = x[i];
    value = value < low ? low : value;
    y[i] = value > high ? high : value;
  }
}

FERRY_KERNEL void leaky_relu(const float* x, float* y, size_t count, float slope, float) {
  FERRY_INDEPENDENT
  for (size_t i = 0; i < count; ++i) y[i] = x[i] > 0 ? x[i] : x[i] * slope;
}

#if !defined(__aarch64__)  // has its own, below
FERRY_KERNEL void hard_sigmoid(const float* x, float* y, size_t count, float, float) {
  FERRY_INDEPENDENT
  for (size_t i = 0; i < count; ++i) {
    const float low = x[i] + 3.0f < 0.0f ? 0.0f : x[i] + 3.0f;
    y[i] = (low > 6.0f ? 6.0f : low) * (1.0f / 6.0f);
  }
}

FERRY_KERNEL void hard_swish(const float* x, float* y, size_t count, float, float) {
  FERRY_INDEPENDENT
  for (size_t i = 0; i < count; ++i) {
    const float low = x[i] + 3.0f < 0.0f ? 0.0f : x[i] + 3.0f;
    const float value = x[i] * (low > 6.0f ? 6.0f : low) * (1.0f / 6.0f);
    y[i] = x[i] > kHardSwishLinear ? x[i] : value;
  }
}

// The result is 0 to within 2e-36 below -87.
FERRY_KERNEL void silu(const float* x, float* y, size_t count, float, float) {
  FERRY_INDEPENDENT
  for (size_t i = 0; i < count; ++i) y[i] = (x[i] < -87.0f ? -87.0f : x[i]) * sigmoid(x[i]);
}
#endif

#if defined(__aarch64__)
FERRY_KERNEL void exp(const float* x, float* y, size_t count, float, float) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kMinimum = -87.33654f;  // below, the result is a denormal
  FERRY_INDEPENDENT
  for (size_t i = 0; i < count; ++i) {
    const float above = x[i] < kMinimum ? kMinimum : x[i];
    const float value =
        exponential(above > 88.0f ? 88.0f : above) * (above > 88.0f ? exponential(above - 88.0f) : 1.0f);
    y[i] = x[i] < kMinimum ? 0.0f : x[i] > 88.72283f ? kInfinity : value;
  }
}

FERRY_KERNEL void tanh(const float* x, float* y, size_t count, float, float) {
  FERRY_INDEPENDENT
  for (size_t i = 0; i < count; ++i) y[i] = hyperbolic_tangent(x[i]);
}
#else
// x / 2 * (1 + tanh(y)) = x * sigmoid(2y).
FERRY_KERNEL void gelu_tanh(const float* x, float* y, size_t count, float, float) {
  FERRY_INDEPENDENT
  for (size_t i = 0; i < count; ++i) {
    const float value = x[i], above = value < -87.0f ? -87.0f : value;  // as silu()
    y[i] = above * sigmoid(1.5957691216057308f * (value + 0.044715f * value * value * value));
  }
}

FERRY_KERNEL void sigmoid_of_each(const float* x, float* y, size_t count, float, float) {
  FERRY_INDEPENDENT
  for (size_t i = 0; i < count; ++i) y[i] = sigmoid(x[i]);
}
#endif

#if !defined(__aarch64__)
// XNNPACK's kernels for x86 multiply by an estimate of 1 / sqrt(x), which fails for infinity and near it.
FERRY_KERNEL void sqrt(const float* x, float* y, size_t count, float, float) {
  FERRY_INDEPENDENT
  for (size_t i = 0; i < count; ++i) y[i] = std::sqrt(x[i]);
}
#endif

// ---- kinds without vector code --------------------------------------------------------------------------------------

template <typename T, typename Result, typename Function>
void each(const float* x, float* y, size_t count, Function function) {
  const T* from = reinterpret_cast<const T*>(x);
  Result* to = reinterpret_cast<Result*>(y);
  for (size_t i = 0; i < count; ++i) to[i] = static_cast<Result>(function(from[i]));
}

void erf(const float* x, float* y, size_t count, float, float) {
  each<float, float>(x, y, count, [](float v) { return std::erf(v); });
}
void sin(const float* x, float* y, size_t count, float, float) {
  each<float, float>(x, y, count, [](float v) { return std::sin(v); });
}
void cos(const float* x, float* y, size_t count, float, float) {
  each<float, float>(x, y, count, [](float v) { return std::cos(v); });
}
void tan(const float* x, float* y, size_t count, float, float) {
  each<float, float>(x, y, count, [](float v) { return std::tan(v); });
}
// The C library's logarithm of a denormal is wrong while denormals are flushed (sdk/threads/denormals.h); here it
// equals 0, as in every other function.
void log(const float* x, float* y, size_t count, float, float) {
  each<float, float>(x, y, count,
                     [](float v) { return v == 0 ? -std::numeric_limits<float>::infinity() : std::log(v); });
}
void round(const float* x, float* y, size_t count, float, float) {
  each<float, float>(x, y, count, [](float v) { return std::nearbyint(v); });
}
void floor(const float* x, float* y, size_t count, float, float) {
  each<float, float>(x, y, count, [](float v) { return std::floor(v); });
}
void ceil(const float* x, float* y, size_t count, float, float) {
  each<float, float>(x, y, count, [](float v) { return std::ceil(v); });
}
void sign(const float* x, float* y, size_t count, float, float) {
  each<float, float>(x, y, count, [](float v) { return v > 0 ? 1.0f : v < 0 ? -1.0f : v; });
}
void is_nan(const float* x, float* y, size_t count, float, float) {
  each<float, int32_t>(x, y, count, [](float v) { return v != v; });
}
void is_inf(const float* x, float* y, size_t count, float above, float below) {
  each<float, int32_t>(x, y, count, [=](float v) { return std::isinf(v) && (v > 0 ? above : below) != 0; });
}
void float_not(const float* x, float* y, size_t count, float, float) {
  each<float, int32_t>(x, y, count, [](float v) { return v == 0; });
}
void int_not(const float* x, float* y, size_t count, float, float) {
  each<int32_t, int32_t>(x, y, count, [](int32_t v) { return v == 0; });
}
void int_sign(const float* x, float* y, size_t count, float, float) {
  each<int32_t, int32_t>(x, y, count, [](int32_t v) { return (v > 0) - (v < 0); });
}
// -INT_MIN wraps.
void int_neg(const float* x, float* y, size_t count, float, float) {
  each<uint32_t, uint32_t>(x, y, count, [](uint32_t v) { return 0 - v; });
}
void int_abs(const float* x, float* y, size_t count, float, float) {
  each<uint32_t, uint32_t>(x, y, count, [](uint32_t v) { return static_cast<int32_t>(v) < 0 ? 0 - v : v; });
}

// Our kernel for a function, or null to use XNNPACK's. Every kind is listed, so that a new one does not compile without
// a decision.
Kernel own_kernel([[maybe_unused]] const CpuFeatures& cpu, fbs::UnaryKind kind, bool integer) {
  switch (kind) {
    case fbs::UnaryKind::Clamp: return clamp;
    case fbs::UnaryKind::LeakyRelu: return leaky_relu;
#if defined(__x86_64__) && defined(__gnu_linux__)
    case fbs::UnaryKind::Silu: return cpu.avx512f ? map_avx512<Silu> : silu;
    case fbs::UnaryKind::Gelu: return cpu.avx512f ? map_avx512<Gelu> : nullptr;
    case fbs::UnaryKind::GeluTanh: return cpu.avx512f ? map_avx512<GeluTanh> : gelu_tanh;
    // XNNPACK's kernel for AVX-512 gives NaN beyond 5e26.
    case fbs::UnaryKind::Sigmoid: return cpu.avx512f ? map_avx512<Sigmoid> : sigmoid_of_each;
#elif defined(__aarch64__)
    case fbs::UnaryKind::Silu: return map_neon<Silu>;
    case fbs::UnaryKind::Gelu: return map_neon<Gelu>;
    case fbs::UnaryKind::GeluTanh: return map_neon<GeluTanh>;
    case fbs::UnaryKind::Sigmoid: return map_neon<Sigmoid>;
    case fbs::UnaryKind::Tanh: return tanh;
    case fbs::UnaryKind::Exp: return exp;
    case fbs::UnaryKind::Sqrt: return map_neon<Sqrt>;
    case fbs::UnaryKind::Square: return map_neon<Square>;
    case fbs::UnaryKind::HardSwish: return map_neon<HardSwish>;
    case fbs::UnaryKind::HardSigmoid: return map_neon<HardSigmoid>;
#else
    case fbs::UnaryKind::Silu: return silu;
    case fbs::UnaryKind::Gelu: break;
    case fbs::UnaryKind::GeluTanh: return gelu_tanh;
#if defined(__x86_64__)
    case fbs::UnaryKind::Sigmoid: return sigmoid_of_each;
#else
    case fbs::UnaryKind::Sigmoid: break;
#endif
#endif
#if !defined(__aarch64__)
    case fbs::UnaryKind::Tanh:
    case fbs::UnaryKind::Exp:
    case fbs::UnaryKind::Square: break;
    case fbs::UnaryKind::Sqrt: return sqrt;
    case fbs::UnaryKind::HardSwish: return hard_swish;
    case fbs::UnaryKind::HardSigmoid: return hard_sigmoid;
#endif
    case fbs::UnaryKind::Log: return log;
    case fbs::UnaryKind::Floor: return floor;
    case fbs::UnaryKind::Ceil: return ceil;
    case fbs::UnaryKind::Round: return round;
    case fbs::UnaryKind::Erf: return erf;
    case fbs::UnaryKind::Sin: return sin;
    case fbs::UnaryKind::Cos: return cos;
    case fbs::UnaryKind::Tan: return tan;
    case fbs::UnaryKind::IsNaN: return is_nan;
    case fbs::UnaryKind::IsInf: return is_inf;
    case fbs::UnaryKind::Not: return integer ? int_not : float_not;
    case fbs::UnaryKind::Sign: return integer ? int_sign : sign;
#if defined(__aarch64__)
    case fbs::UnaryKind::Neg: return integer ? int_neg : map_neon<Neg>;
    case fbs::UnaryKind::Abs: return integer ? int_abs : map_neon<Abs>;
#else
    case fbs::UnaryKind::Neg: return integer ? int_neg : nullptr;
    case fbs::UnaryKind::Abs: return integer ? int_abs : nullptr;
#endif
  }
  return nullptr;
}

#if !defined(__aarch64__)
// ---- XNNPACK's kinds, which arm64 does not use ----------------------------------------------------------------------

class Unary : public XnnOp {
 public:
  Unary() : XnnOp(fbs::OpParams::Unary) {}

  [[gnu::cold]] Status create(xnn_unary_operator kind) {
    xnn_operator_t created = nullptr;
    const xnn_status status =
        xnn_create_unary_elementwise_nc(kind, xnn_datatype_fp32, xnn_datatype_fp32, /*params=*/nullptr,
                                        /*input_quantization=*/nullptr, /*output_quantization=*/nullptr, 0, &created);
    return own(status, created);
  }

  [[gnu::cold]] Status reshape(std::span<const Shape> inputs, const Shape&, Pool* pool, uint64_t* workspace) override {
    *workspace = 0;
    return check(xnn_reshape_unary_elementwise_nc(xnn_.get(), elements(inputs[0]), 1, 1, 1, as_xnnpack(pool)),
                 "reshaping");
  }

  [[gnu::cold]] Status setup(std::span<const void* const> inputs, void* output, void*) override {
    return check(xnn_setup_unary_elementwise_nc(xnn_.get(), inputs[0], output), "setting up");
  }
};

// Kinds for which XNNPACK has float32 kernels on every CPU.
xnn_unary_operator xnn_kind(fbs::UnaryKind kind) {
  switch (kind) {
    case fbs::UnaryKind::Sigmoid: return xnn_unary_sigmoid;
    case fbs::UnaryKind::Tanh: return xnn_unary_tanh;
    case fbs::UnaryKind::Gelu: return xnn_unary_gelu;
    case fbs::UnaryKind::Abs: return xnn_unary_abs;
    case fbs::UnaryKind::Neg: return xnn_unary_negate;
    case fbs::UnaryKind::Exp: return xnn_unary_exp;
    case fbs::UnaryKind::Square: return xnn_unary_square;
    case fbs::UnaryKind::Clamp:
    case fbs::UnaryKind::LeakyRelu:
    case fbs::UnaryKind::HardSwish:
    case fbs::UnaryKind::Silu:
    case fbs::UnaryKind::HardSigmoid:
    case fbs::UnaryKind::GeluTanh:
    case fbs::UnaryKind::Sqrt:
    case fbs::UnaryKind::Log:
    case fbs::UnaryKind::Floor:
    case fbs::UnaryKind::Ceil:
    case fbs::UnaryKind::Round:
    case fbs::UnaryKind::Sign:
    case fbs::UnaryKind::Erf:
    case fbs::UnaryKind::Sin:
    case fbs::UnaryKind::Cos:
    case fbs::UnaryKind::Tan:
    case fbs::UnaryKind::Not:
    case fbs::UnaryKind::IsNaN:
    case fbs::UnaryKind::IsInf: break;
  }
  return xnn_unary_invalid;
}
#endif

}  // namespace

Elementwise elementwise(const CpuFeatures& cpu, const fbs::Unary& params, bool integer) {
  if constexpr (!built_in(fbs::OpParams::Unary)) return {};
  Elementwise own{own_kernel(cpu, params.kind(), integer), params.alpha(), params.beta()};
#if defined(__aarch64__)
  if (built_in(Feature::Float16) && cpu.float16) own.float16s = float16_function(params.kind());
#endif
  return own;
}

void Elementwise::operator()(const Float16* x, Float16* y, size_t count) const {
  if (float16s != nullptr) return float16s(x, y, count);
  in_pieces(count, [&](size_t first, size_t some) {
    float values[kFloat16sAtOnce];
    widen(x + first, values, some);
    kernel(values, values, some, alpha, beta);
    narrow(values, y + first, some);
  });
}

Status ElementwiseOp::reshape(std::span<const Shape> inputs, const Shape&, Pool*, uint64_t* workspace) {
  *workspace = 0;
  count_ = elements(inputs[0]);
  return {};
}

Status ElementwiseOp::setup(std::span<const void* const> inputs, void* output, void*) {
  input_ = inputs[0];
  output_ = output;
  return {};
}

Status ElementwiseOp::run(Pool* pool) {
  parallel_for(pool, count_, kGrain, [&](size_t begin, size_t end) {
    if constexpr (built_in(Feature::Float16))
      if (float16_) return function_(float16s(input_) + begin, float16s(output_) + begin, end - begin);
    function_(floats(input_) + begin, floats(output_) + begin, end - begin);
  });
  return {};
}

// Kinds that XNNPACK computes stay in float32, except the sigmoid of squeeze-and-excitation between float16 operators.
Status create_float16_unary(const CpuFeatures& cpu, const Model&, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  const fbs::Unary& p = *op.params_as_Unary();
  Elementwise own = elementwise(cpu, p);
#if !defined(__aarch64__)
  if (p.kind() == fbs::UnaryKind::Sigmoid) own.kernel = sigmoid_of_each;
#endif
  if (own) *out = std::make_unique<ElementwiseOp>(own, /*float16=*/true);
  return {};
}

Status create_unary(const CpuFeatures& cpu, const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  const fbs::Unary& p = *op.params_as_Unary();
  const bool integer = model.tensor(op.inputs()->Get(0)).dtype() == fbs::DType::Int32;
  const Elementwise own = elementwise(cpu, p, integer);
#if !defined(__aarch64__)
  if (!own) {
    auto unary = std::make_unique<Unary>();
    FERRY_TRY(unary->create(xnn_kind(p.kind())));
    *out = std::move(unary);
    return {};
  }
#endif
  *out = std::make_unique<ElementwiseOp>(own);
  return {};
}

}  // namespace ferry::cpu
