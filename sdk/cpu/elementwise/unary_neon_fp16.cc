// Elementwise functions in float16 arithmetic, for unary.kernel.cc. Compiled for ARMv8.2 (cmake/sdk.cmake): must define
// nothing that other files also define.
#define FERRY_FLOAT16_VECTORS 1

#include "sdk/cpu/elementwise/unary_neon_fp16.h"

#if defined(__aarch64__)

#include "sdk/cpu/elementwise/map_neon.h"

namespace ferry::cpu {
namespace {

constexpr Float16 kMinimum = -11;  // e^11 is the last integer power of e within float16's range

// a / (1 + e^-x) with a cubic for e^-r, where x = n ln 2 + r. ln 2 has two parts: with the first alone, an error of
// 2e-4 is multiplied by n. From 9 on, the quotient rounds to a.
[[gnu::always_inline]] inline Vector times_sigmoid(Vector a, Vector x) {
  const Vector rounds = repeat(1536), within = clamp(x, repeat(kMinimum), repeat(9));
  const Vector shifted = vfmaq_f16(rounds, within, repeat(0x1.714p+0)), n = vsubq_f16(shifted, rounds);
  Vector r = vfmsq_f16(within, n, repeat(0x1.63p-1));
  r = vfmaq_f16(r, n, repeat(0x1.bdp-13));
  Vector p = vfmsq_f16(repeat(0.5), r, repeat(0x1.48p-3));
  p = vfmsq_f16(repeat(1), p, r);
  p = vfmsq_f16(repeat(1), p, r);
  const uint16x8_t bits = vsubq_u16(vreinterpretq_u16_f16(p), vshlq_n_u16(vreinterpretq_u16_f16(shifted), 10));
  return vdivq_f16(a, vaddq_f16(vreinterpretq_f16_u16(bits), repeat(1)));
}

struct Silu {  // 0 where the result is within 2e-4 of it
  [[gnu::always_inline]] static Vector of(Vector x) {
    const uint16x8_t vanishes = vcltq_f16(x, repeat(kMinimum));
    return times_sigmoid(vreinterpretq_f16_u16(vbicq_u16(vreinterpretq_u16_f16(x), vanishes)), x);
  }
};

struct Sigmoid {  // times_sigmoid() turns some NaN into numbers, unless `a` is NaN, too
  [[gnu::always_inline]] static Vector of(Vector x) {
    return times_sigmoid(vbslq_f16(vceqq_f16(x, x), repeat(1), x), x);
  }
};

struct HardSigmoid {
  [[gnu::always_inline]] static Vector of(Vector x) {
    return clamp(vfmaq_f16(repeat(0.5), x, repeat(0x1.554p-3)), repeat(0), repeat(1));
  }
};

struct HardSwish {
  [[gnu::always_inline]] static Vector of(Vector x) { return vmulq_f16(x, HardSigmoid::of(x)); }
};

}  // namespace

Float16Function float16_function(fbs::UnaryKind kind) {
  switch (kind) {
    case fbs::UnaryKind::Silu: return map<Silu>;
    case fbs::UnaryKind::Sigmoid: return map<Sigmoid>;
    case fbs::UnaryKind::HardSigmoid: return map<HardSigmoid>;
    case fbs::UnaryKind::HardSwish: return map<HardSwish>;
    // Computed in float32.
    case fbs::UnaryKind::Clamp:
    case fbs::UnaryKind::LeakyRelu:
    case fbs::UnaryKind::Tanh:
    case fbs::UnaryKind::Gelu:
    case fbs::UnaryKind::Abs:
    case fbs::UnaryKind::Neg:
    case fbs::UnaryKind::Exp:
    case fbs::UnaryKind::Sqrt:
    case fbs::UnaryKind::Square:
    case fbs::UnaryKind::GeluTanh:
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
  return nullptr;
}

}  // namespace ferry::cpu

#endif
