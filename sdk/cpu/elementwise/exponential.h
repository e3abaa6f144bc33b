// exp() for our own kernels, inlined so that the surrounding loop vectorizes: one for a small relative error, and a
// shorter one for softmax, where it takes most of the time besides the products. (sdk/cpu/elementwise/unary_avx512.h
// has one that scales by 2^n with an AVX-512 instruction.)
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace ferry::cpu {

// e^x for x in [-87.336, 88]: 2^n * e^r with |r| <= ln(2)/2. e^r is its Taylor polynomial of degree 7 (error r^8/8! <
// 6e-9).
[[gnu::always_inline]] inline float exponential(float x) {
  constexpr float kRound = 0x1.8p23f;  // adding it rounds to an integer in the low bits
  constexpr float kLog2E = 0x1.715476p+0f;
  constexpr float kLn2High = 0x1.62e400p-1f, kLn2Low = 0x1.7f7d1cp-20f;  // n * high is exact
  const float shifted = x * kLog2E + kRound;
  const float n = shifted - kRound;
  const float r = (x - n * kLn2High) - n * kLn2Low;
  float p = 1.0f / 5040;
  p = p * r + 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  return p * std::bit_cast<float>((std::bit_cast<uint32_t>(shifted) << 23) + 0x3f800000u);
}

// e^x for x <= 0, at least e^minimum, to a relative error of 2e-7. e^-69 is negligible beside 1, and its product with
// most values is no denormal; -87 is the lowest minimum. e^x = 2^(n + 1) * 2^r / 2; 2^r / 2, |r| <= 1/2, is a minimax
// polynomial of degree 5. A product, since an addition to the exponent would turn some NaN into numbers.
inline constexpr float kSoftmaxMinimum = -69.0f;
[[gnu::always_inline]] inline float softmax_exponential(float x, float minimum = kSoftmaxMinimum) {
  constexpr float kRound = 0x1.8p23f + 128;  // adding it rounds to an integer in the low bits, plus the exponent's bias
  constexpr float kLog2E = 0x1.715476p+0f;
  const float within = x < minimum ? minimum : x;
  const float shifted = within * kLog2E + kRound;
  const float r = within * kLog2E - (shifted - kRound);
  float p = 0x1.5bba16p-11f;
  p = p * r + 0x1.3cea88p-8f;
  p = p * r + 0x1.c6b752p-6f;
  p = p * r + 0x1.ebf9bcp-4f;
  p = p * r + 0x1.62e42ap-2f;
  p = p * r + 0.5f;
  return p * std::bit_cast<float>(std::bit_cast<uint32_t>(shifted) << 23);
}

// 1 / (1 + e^-x): within 2e-38 below -87, exactly 1 above 87.
[[gnu::always_inline]] inline float sigmoid(float x) {
  const float above = x < -87.0f ? -87.0f : x;
  const float within = above > 87.0f ? 87.0f : above;
  return 1.0f / (1.0f + exponential(-within));
}

// tanh(x) = 1 - 2 / (e^2x + 1); for small x the polynomial of Cephes' tanhf (S. Moshier).
[[gnu::always_inline]] inline float hyperbolic_tangent(float x) {
  const float absolute = std::fabs(x), within = absolute > 10.0f ? 10.0f : absolute;
  const float large = 1.0f - 2.0f / (exponential(2.0f * within) + 1.0f), z = x * x;
  float p = -5.70498872745e-3f;
  p = p * z + 2.06390887954e-2f;
  p = p * z - 5.37397155531e-2f;
  p = p * z + 1.33314422036e-1f;
  p = p * z - 3.33332819422e-1f;
  return absolute < 0.625f ? p * z * x + x : std::copysign(large, x);
}

}  // namespace ferry::cpu
