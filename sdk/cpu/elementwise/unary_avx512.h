// Elementwise functions with AVX-512 instructions, for unary.kernel.cc.
#pragma once

#include <immintrin.h>

#include <cstddef>

namespace ferry::cpu {
namespace {

// a / b to 2^-27. A division takes longer than the rest of a function; an estimate of the reciprocal to 2^-14 and a
// Newton step do not.
[[gnu::target("avx512f"), gnu::always_inline]] inline __m512 divide(__m512 a, __m512 b) {
  const __m512 estimate = _mm512_maskz_rcp14_ps(0xffff, b);
  return a * (estimate + estimate * (1.0f - b * estimate));
}

constexpr __mmask16 kAll = 0xffff;  // gcc 12 warns of the forms without a mask

// a / (1 + e^-x) to a relative error of 4e-7; below -87 as sigmoid(). e^r is a minimax polynomial of degree 5 (relative
// error 9e-8).
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

struct Sigmoid {
  [[gnu::target("avx512f"), gnu::always_inline]] static __m512 of(__m512 x) {
    return times_sigmoid(__m512{} + 1.0f, x);
  }
};

struct GeluTanh {  // as gelu_tanh()
  [[gnu::target("avx512f"), gnu::always_inline]] static __m512 of(__m512 x) {
    return times_sigmoid(_mm512_maskz_max_ps(kAll, __m512{} - 87.0f, x),
                         x * (x * x * 0.0713548163f + 1.5957691216057308f));
  }
};

// x / 2 * (1 + erf(x / sqrt(2))). Up to 5.7, erf is x times a quotient of polynomials in x^2 (minimax, error 3e-8);
// above, 1.
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
  constexpr size_t kFloats = 16;
  size_t i = 0;
  for (; i + kFloats <= count; i += kFloats) {
    // such long arithmetic hides memory latency only with early prefetches
    __builtin_prefetch(from + i + 16 * kFloats);
    _mm512_storeu_ps(to + i, Function::of(_mm512_loadu_ps(from + i)));
  }
  const auto rest = static_cast<__mmask16>((1u << (count - i)) - 1);
  if (rest != 0) _mm512_mask_storeu_ps(to + i, rest, Function::of(_mm512_maskz_loadu_ps(rest, from + i)));
}

}  // namespace
}  // namespace ferry::cpu
