// Elementwise functions with NEON instructions, for unary.kernel.cc.
#pragma once

#include <cstddef>

#include "sdk/cpu/elementwise/map_neon.h"

namespace ferry::cpu {
namespace {

// a / (1 + e^-x), as for AVX-512. From the plain loop, gcc makes twice as many instructions: comparisons and selections
// for minimum and maximum. r is the remainder of x with inverted signs, since that of -x takes another instruction.
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
    return times_sigmoid(vmaxq_f32(x, repeat(-87.0f)), vmulq_f32(x, factor));
  }
};

// As for AVX-512.
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

struct Sigmoid {  // times_sigmoid() turns some NaN into numbers, unless `a` is NaN, too
  [[gnu::always_inline]] static Vector of(Vector x) {
    return times_sigmoid(vbslq_f32(vceqq_f32(x, x), repeat(1.0f), x), x);
  }
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
    const Vector value = vmulq_f32(vmulq_f32(x, within), repeat(1.0f / 6.0f));
    return vbslq_f32(vcgtq_f32(x, repeat(kHardSwishLinear)), x, value);
  }
};

template <typename Function>
void map_neon(const float* from, float* to, size_t count, float, float) {
  map<Function>(from, to, count);
}

}  // namespace
}  // namespace ferry::cpu
