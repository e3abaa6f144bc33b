#include "sdk/cpu/half.h"

#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#define FERRY_CONVERTS [[gnu::target("avx,f16c")]]
#elif defined(__aarch64__)
#include <arm_neon.h>
#define FERRY_CONVERTS
#endif

namespace ferry::cpu {

#if defined(FERRY_CONVERTS)
namespace {

constexpr size_t kEight = 8;

#if defined(__x86_64__)
FERRY_CONVERTS [[gnu::always_inline]] inline void widen_eight(const Half* from, float* to) {
  _mm256_storeu_ps(to, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
}
FERRY_CONVERTS [[gnu::always_inline]] inline void narrow_eight(const float* from, Half* to) {
  const __m128i eight = _mm256_cvtps_ph(_mm256_loadu_ps(from), _MM_FROUND_TO_NEAREST_INT);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), eight);
}
#else
[[gnu::always_inline]] inline void widen_eight(const Half* from, float* to) {
  const float16x8_t eight = vreinterpretq_f16_u16(vld1q_u16(from));
  vst1q_f32(to, vcvt_f32_f16(vget_low_f16(eight)));
  vst1q_f32(to + 4, vcvt_high_f32_f16(eight));
}
[[gnu::always_inline]] inline void narrow_eight(const float* from, Half* to) {
  const float16x4_t low = vcvt_f16_f32(vld1q_f32(from));
  vst1q_u16(to, vreinterpretq_u16_f16(vcvt_high_f16_f32(low, vld1q_f32(from + 4))));
}
#endif

}  // namespace

FERRY_CONVERTS void widen(const Half* from, float* to, size_t count) {
  size_t i = 0;
  for (; i + kEight <= count; i += kEight) widen_eight(from + i, to + i);
  if (i == count) return;
  Half rest[kEight] = {};
  float wide[kEight];
  std::memcpy(rest, from + i, (count - i) * sizeof(Half));
  widen_eight(rest, wide);
  std::memcpy(to + i, wide, (count - i) * sizeof(float));
}

FERRY_CONVERTS void narrow(const float* from, Half* to, size_t count) {
  size_t i = 0;
  for (; i + kEight <= count; i += kEight) narrow_eight(from + i, to + i);
  if (i == count) return;
  float rest[kEight] = {};
  Half few[kEight];
  std::memcpy(rest, from + i, (count - i) * sizeof(float));
  narrow_eight(rest, few);
  std::memcpy(to + i, few, (count - i) * sizeof(Half));
}
#else  // where no CPU has CpuFeatures::half
void widen(const Half*, float*, size_t) {}
void narrow(const float*, Half*, size_t) {}
#endif

}  // namespace ferry::cpu
