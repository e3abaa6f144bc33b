#include "sdk/cpu/unary.h"
#include "sdk/threads/xnnpack.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include "sdk/cpu/vector.h"
#endif

#include <algorithm>
#include <cmath>
#include <limits>

#include "sdk/cpu/exponential.h"
#include "sdk/cpu/features.h"
#include "sdk/cpu/half.h"
#include "sdk/cpu/lowerings.h"
#include "sdk/cpu/parallel.h"
#include "sdk/cpu/xnn.h"
#include "sdk/operators/built_in.h"

namespace ferry::cpu {
namespace {

// ---- those that XNNPACK lacks, or refuses for some parameters -------------------------------------------------------

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

#if !defined(__aarch64__)  // which has its own, below
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
    y[i] = x[i] * (low > 6.0f ? 6.0f : low) * (1.0f / 6.0f);
  }
}

// Below -87 the result is 0 to within 2e-36.
FERRY_KERNEL void silu(const float* x, float* y, size_t count, float, float) {
  FERRY_INDEPENDENT
  for (size_t i = 0; i < count; ++i) y[i] = (x[i] < -87.0f ? -87.0f : x[i]) * sigmoid(x[i]);
}
#endif

#if defined(__x86_64__) && defined(__gnu_linux__)
// To 2^-27: a division takes longer than all the rest of a function, an estimate of the reciprocal to 2^-14 and a step
// of Newton's do not.
[[gnu::target("avx512f"), gnu::always_inline]] inline __m512 divide(__m512 a, __m512 b) {
  const __m512 estimate = _mm512_maskz_rcp14_ps(0xffff, b);
  return a * (estimate + estimate * (1.0f - b * estimate));
}

constexpr __mmask16 kAll = 0xffff;  // gcc 12 warns of the forms without a mask

// a / (1 + e^-x) to 4e-7 of the result; below -87 as there. The polynomial is e^r's best of degree 5 by relative error
// (9e-8).
[[gnu::target("avx512f"), gnu::always_inline]] inline __m512 times_sigmoid(__m512 a, __m512 x) {
  constexpr float kRound = 0x1.8p23f;
  const __m512 within = _mm512_maskz_min_ps(kAll, __m512{} + 87.0f, _mm512_maskz_max_ps(kAll, __m512{} - 87.0f, x));
  const __m512 shifted = within * -0x1.715476p+0f + kRound, n = shifted - kRound;
  const __m512 r = -within - n * 0x1.62e430p-1f;
  __m512 p = r * 0x1.0fa822p-7f + 0x1.573a6cp-5f;
  p = p * r + 0x1.555a6cp-3f;
  p = p * r + 0x1.fffdc6p-2f;
  p = p * r + 0x1.fffff6p-1f;
  p = p * r + 1.0f;
  return divide(a, _mm512_maskz_scalef_ps(kAll, p, n) + 1.0f);
}

struct Silu {
  [[gnu::target("avx512f"), gnu::always_inline]] static __m512 of(__m512 x) {
    return times_sigmoid(_mm512_maskz_max_ps(kAll, __m512{} - 87.0f, x), x);
  }
};

struct GeluTanh {  // as gelu_tanh()
  [[gnu::target("avx512f"), gnu::always_inline]] static __m512 of(__m512 x) {
    return times_sigmoid(x, x * (x * x * 0.0713548163f + 1.5957691216057308f));
  }
};

// x / 2 * (1 + erf(x / sqrt(2))), where erf is x times a quotient of polynomials in x^2 (their best to 3e-8) up to 5.7
// and 1 from there.
struct Gelu {
  [[gnu::target("avx512f"), gnu::always_inline]] static __m512 of(__m512 x) {
    const __m512 one = __m512{} + 1.0f, maximum = __m512{} + 5.7f;
    const __m512 within = _mm512_maskz_min_ps(kAll, maximum, _mm512_maskz_max_ps(kAll, -maximum, x)),
                 u = within * within;
    __m512 p = u * 0x1.72bf24p-25f + 0x1.abc3c6p-17f;
    __m512 q = u * 0x1.38b7a4p-20f + 0x1.41fd00p-14f;
    p = p * u + 0x1.783784p-12f;
    q = q * u + 0x1.fdc0d4p-10f;
    p = p * u + 0x1.36b1eep-7f;
    q = q * u + 0x1.df683ep-6f;
    p = p * u + 0x1.1e3cf0p-4f;
    q = q * u + 0x1.045a1cp-2f;
    p = p * u + 0x1.98844ep-1f;
    q = q * u + 1.0f;
    const __m512 erf = _mm512_maskz_min_ps(kAll, one, _mm512_maskz_max_ps(kAll, -one, divide(within * p, q)));
    return 0.5f * x * (1.0f + erf);
  }
};

template <typename Function>
[[gnu::target("avx512f")]] void map_avx512(const float* from, float* to, size_t count, float, float) {
  constexpr size_t kLanes = 16;
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    __builtin_prefetch(from + i + 16 * kLanes);  // arithmetic this long hides the memory only where it is asked early
    _mm512_storeu_ps(to + i, Function::of(_mm512_loadu_ps(from + i)));
  }
  const auto rest = static_cast<__mmask16>((1u << (count - i)) - 1);
  if (rest != 0) _mm512_mask_storeu_ps(to + i, rest, Function::of(_mm512_maskz_loadu_ps(rest, from + i)));
}
#elif defined(__aarch64__)
// a / (1 + e^-x), as with AVX-512. gcc makes twice as many instructions of the plain loop: comparisons and selections
// in the place of minimum and maximum. The remainder is that of x, with which signs change: that of -x takes one more.
[[gnu::always_inline]] inline Vector times_sigmoid(Vector a, Vector x) {
  const Vector within = cpu::clamp(x, repeat(-87.0f), repeat(87.0f)), rounds = repeat(0x1.8p23f);
  const Vector shifted = multiply_add(within, repeat(0x1.715476p+0f), rounds), n = vsubq_f32(shifted, rounds);
  const Vector r = vfmsq_f32(within, n, repeat(0x1.62e430p-1f));
  Vector p = vfmsq_f32(repeat(0x1.573a6cp-5f), r, repeat(0x1.0fa822p-7f));
  p = vfmsq_f32(repeat(0x1.555a6cp-3f), p, r);
  p = vfmsq_f32(repeat(0x1.fffdc6p-2f), p, r);
  p = vfmsq_f32(repeat(0x1.fffff6p-1f), p, r);
  p = vfmsq_f32(repeat(1.0f), p, r);
  const uint32x4_t bits = vsubq_u32(vreinterpretq_u32_f32(p), vshlq_n_u32(vreinterpretq_u32_f32(shifted), 23));
  return vdivq_f32(a, vaddq_f32(vreinterpretq_f32_u32(bits), repeat(1.0f)));
}

struct Silu {
  [[gnu::always_inline]] static Vector of(Vector x) { return times_sigmoid(vmaxq_f32(x, repeat(-87.0f)), x); }
};

struct GeluTanh {  // as gelu_tanh()
  [[gnu::always_inline]] static Vector of(Vector x) {
    const Vector factor = multiply_add(vmulq_f32(x, x), repeat(0.0713548163f), repeat(1.5957691216057308f));
    return times_sigmoid(x, vmulq_f32(x, factor));
  }
};

// As with AVX-512.
struct Gelu {
  [[gnu::always_inline]] static Vector of(Vector x) {
    const Vector within = cpu::clamp(x, repeat(-5.7f), repeat(5.7f)), u = vmulq_f32(within, within);
    Vector p = multiply_add(u, repeat(0x1.72bf24p-25f), repeat(0x1.abc3c6p-17f));
    Vector q = multiply_add(u, repeat(0x1.38b7a4p-20f), repeat(0x1.41fd00p-14f));
    p = multiply_add(p, u, repeat(0x1.783784p-12f));
    q = multiply_add(q, u, repeat(0x1.fdc0d4p-10f));
    p = multiply_add(p, u, repeat(0x1.36b1eep-7f));
    q = multiply_add(q, u, repeat(0x1.df683ep-6f));
    p = multiply_add(p, u, repeat(0x1.1e3cf0p-4f));
    q = multiply_add(q, u, repeat(0x1.045a1cp-2f));
    p = multiply_add(p, u, repeat(0x1.98844ep-1f));
    q = multiply_add(q, u, repeat(1.0f));
    const Vector erf = cpu::clamp(vdivq_f32(vmulq_f32(within, p), q), repeat(-1.0f), repeat(1.0f));
    const Vector half = vmulq_f32(x, repeat(0.5f));
    return multiply_add(half, erf, half);
  }
};

struct Sigmoid {
  [[gnu::always_inline]] static Vector of(Vector x) { return times_sigmoid(repeat(1.0f), x); }
};

struct Abs {
  [[gnu::always_inline]] static Vector of(Vector x) { return vabsq_f32(x); }
};

struct Neg {
  [[gnu::always_inline]] static Vector of(Vector x) { return vnegq_f32(x); }
};

struct Sqrt {
  [[gnu::always_inline]] static Vector of(Vector x) { return vsqrtq_f32(x); }
};

struct Square {
  [[gnu::always_inline]] static Vector of(Vector x) { return vmulq_f32(x, x); }
};

struct HardSigmoid {
  [[gnu::always_inline]] static Vector of(Vector x) {
    return vmulq_f32(cpu::clamp(vaddq_f32(x, repeat(3.0f)), repeat(0.0f), repeat(6.0f)), repeat(1.0f / 6.0f));
  }
};

struct HardSwish {
  [[gnu::always_inline]] static Vector of(Vector x) {
    const Vector within = cpu::clamp(vaddq_f32(x, repeat(3.0f)), repeat(0.0f), repeat(6.0f));
    return vmulq_f32(vmulq_f32(x, within), repeat(1.0f / 6.0f));
  }
};

template <typename Function>
void map_neon(const float* from, float* to, size_t count, float, float) {
  for (const float* const end = from + count / (2 * kLanes) * (2 * kLanes); from != end;) {
    Vector first, second;
    load_pair(from, first, second);
    store_pair(to, Function::of(first), Function::of(second));
  }
  count %= 2 * kLanes;
  while (count > 0) {
    const size_t some = std::min(count, kLanes);
    float rest[kLanes] = {};
    std::copy_n(from, some, rest);
    store(rest, Function::of(load(rest)));
    std::copy_n(rest, some, to);
    count -= some;
    from += some;
    to += some;
  }
}
#endif

#if defined(__aarch64__)
FERRY_KERNEL void exp(const float* x, float* y, size_t count, float, float) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  FERRY_INDEPENDENT
  for (size_t i = 0; i < count; ++i) {
    const float above = x[i] < -87.0f ? -87.0f : x[i];
    const float value =
        exponential(above > 88.0f ? 88.0f : above) * (above > 88.0f ? exponential(above - 88.0f) : 1.0f);
    y[i] = x[i] < -87.0f ? 0.0f : x[i] > 88.72283f ? kInfinity : value;
  }
}

// 1 - 2 / (e^2x + 1), and for small x the polynomial of Cephes' tanhf (S. Moshier).
FERRY_KERNEL void tanh(const float* x, float* y, size_t count, float, float) {
  FERRY_INDEPENDENT
  for (size_t i = 0; i < count; ++i) {
    const float value = x[i], absolute = std::fabs(value), within = absolute > 10.0f ? 10.0f : absolute;
    const float large = 1.0f - 2.0f / (exponential(2.0f * within) + 1.0f), z = value * value;
    float p = -5.70498872745e-3f;
    p = p * z + 2.06390887954e-2f;
    p = p * z - 5.37397155531e-2f;
    p = p * z + 1.33314422036e-1f;
    p = p * z - 3.33332819422e-1f;
    y[i] = absolute < 0.625f ? p * z * value + value : std::copysign(large, value);
  }
}
#else
// x / 2 * (1 + tanh(y)) is x * sigmoid(2y).
FERRY_KERNEL void gelu_tanh(const float* x, float* y, size_t count, float, float) {
  FERRY_INDEPENDENT
  for (size_t i = 0; i < count; ++i) {
    const float value = x[i];
    y[i] = value * sigmoid(1.5957691216057308f * (value + 0.044715f * value * value * value));
  }
}

FERRY_KERNEL void sigmoid_of_each(const float* x, float* y, size_t count, float, float) {
  FERRY_INDEPENDENT
  for (size_t i = 0; i < count; ++i) y[i] = sigmoid(x[i]);
}
#endif

// ---- those without vectors ------------------------------------------------------------------------------------------

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
void log(const float* x, float* y, size_t count, float, float) {
  each<float, float>(x, y, count, [](float v) { return std::log(v); });
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
// In unsigned arithmetic the least number is its own opposite.
void int_neg(const float* x, float* y, size_t count, float, float) {
  each<uint32_t, uint32_t>(x, y, count, [](uint32_t v) { return 0 - v; });
}
void int_abs(const float* x, float* y, size_t count, float, float) {
  each<uint32_t, uint32_t>(x, y, count, [](uint32_t v) { return static_cast<int32_t>(v) < 0 ? 0 - v : v; });
}

Kernel own_kernel([[maybe_unused]] const CpuFeatures& cpu, fbs::UnaryKind kind, bool integer) {
  switch (kind) {
    case fbs::UnaryKind::Clamp: return clamp;
    case fbs::UnaryKind::LeakyRelu: return leaky_relu;
#if defined(__x86_64__) && defined(__gnu_linux__)
    case fbs::UnaryKind::Silu: return cpu.avx512f ? map_avx512<Silu> : silu;
    case fbs::UnaryKind::Gelu: return cpu.avx512f ? map_avx512<Gelu> : nullptr;
    case fbs::UnaryKind::GeluTanh: return cpu.avx512f ? map_avx512<GeluTanh> : gelu_tanh;
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
    case fbs::UnaryKind::GeluTanh: return gelu_tanh;
#endif
#if !defined(__aarch64__)
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
    default: return nullptr;
  }
}

#if !defined(__aarch64__)
// ---- XNNPACK's, which arm64 does without ---------------------------------------------------------------------------

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

// For these XNNPACK has float32 kernels on every CPU that it runs on.
xnn_unary_operator xnn_kind(fbs::UnaryKind kind) {
  switch (kind) {
    case fbs::UnaryKind::Sigmoid: return xnn_unary_sigmoid;
    case fbs::UnaryKind::Tanh: return xnn_unary_tanh;
    case fbs::UnaryKind::Gelu: return xnn_unary_gelu;
    case fbs::UnaryKind::Abs: return xnn_unary_abs;
    case fbs::UnaryKind::Neg: return xnn_unary_negate;
    case fbs::UnaryKind::Exp: return xnn_unary_exp;
    case fbs::UnaryKind::Sqrt: return xnn_unary_square_root;
    case fbs::UnaryKind::Square: return xnn_unary_square;
    default: return xnn_unary_invalid;
  }
}

// What XNNPACK falls back to: kernels of every type, an element a turn, 32 KB of code that xnn_kind() never asks for.
// Defined here, they stay in XNNPACK's archive.
extern "C" const struct xnn_unary_elementwise_config* xnn_init_unary_reference_config(xnn_unary_operator, xnn_datatype,
                                                                                      xnn_datatype) {
  return nullptr;
}
#endif

}  // namespace

Elementwise elementwise(const CpuFeatures& cpu, const fbs::Unary& params, bool integer) {
  if constexpr (!built_in(fbs::OpParams::Unary)) return {};
  return {own_kernel(cpu, params.kind(), integer), params.alpha(), params.beta()};
}

void Elementwise::operator()(const Half* x, Half* y, size_t count) const {
  in_pieces(count, [&](size_t first, size_t some) {
    float numbers[kHalvesAtOnce];
    widen(x + first, numbers, some);
    kernel(numbers, numbers, some, alpha, beta);
    narrow(numbers, y + first, some);
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
    if constexpr (built_in(Feature::Half))
      if (half_) return function_(halves(input_) + begin, halves(output_) + begin, end - begin);
    function_(floats(input_) + begin, floats(output_) + begin, end - begin);
  });
  return {};
}

// Those that XNNPACK computes are left in float32, but for one: squeeze and excitation has it between halves.
Status create_half_unary(const CpuFeatures& cpu, const Model&, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  const fbs::Unary& p = *op.params_as_Unary();
  Elementwise own = elementwise(cpu, p);
#if !defined(__aarch64__)
  if (p.kind() == fbs::UnaryKind::Sigmoid) own.kernel = sigmoid_of_each;
#endif
  if (own) *out = std::make_unique<ElementwiseOp>(own, /*half=*/true);
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
