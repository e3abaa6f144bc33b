#include "sdk/cpu/elementwise/float16.h"

#include <bit>
#include <cstring>

#if !defined(__aarch64__)
#include "sdk/model/elements.h"
#endif
#if defined(__x86_64__)
#include <immintrin.h>

#include "sdk/cpu/backend/features.h"
#define FERRY_CONVERTS [[gnu::target("avx,f16c")]]
#elif defined(__aarch64__)
#include "sdk/cpu/elementwise/vector.h"
#define FERRY_CONVERTS
#endif

namespace ferry::cpu {

#if !defined(__aarch64__)  // an arm64 CPU always converts
namespace {

Float16 to_float16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return static_cast<Float16>(sign | 0x7e00);   // NaN
  if (magnitude >= 0x477ff000) return static_cast<Float16>(sign | 0x7c00);  // 65520 and more: infinity
  // Subnormals are multiples of 2^-24, which is the last place of numbers from 0.5 on.
  const uint32_t small = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000;
  const uint32_t rounded = (magnitude + 0xfff + (magnitude >> 13 & 1) - 0x38000000) >> 13;
  return static_cast<Float16>(sign | (magnitude < 0x38800000 ? small : rounded));
}

void widen_each(const Float16* from, float* to, size_t count) {
  for (size_t i = 0; i < count; ++i) to[i] = from_float16(from[i]);
}
void narrow_each(const float* from, Float16* to, size_t count) {
  for (size_t i = 0; i < count; ++i) to[i] = to_float16(from[i]);
}

}  // namespace
#endif

#if defined(FERRY_CONVERTS)
namespace {

constexpr size_t kVectorLanes = 8;

#if defined(__x86_64__)
FERRY_CONVERTS [[gnu::always_inline]] inline void widen_eight(const Float16* from, float* to) {
  _mm256_storeu_ps(to, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
}
FERRY_CONVERTS [[gnu::always_inline]] inline void narrow_eight(const float* from, Float16* to) {
  const __m128i values = _mm256_cvtps_ph(_mm256_loadu_ps(from), _MM_FROUND_TO_NEAREST_INT);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), values);
}
#else
[[gnu::always_inline]] inline void widen_eight(const Float16* from, float* to) {
  const float16x8_t values = vreinterpretq_f16_u16(vld1q_u16(reinterpret_cast<const uint16_t*>(from)));
  vst1q_f32(to, vcvt_f32_f16(vget_low_f16(values)));
  vst1q_f32(to + 4, vcvt_high_f32_f16(values));
}
[[gnu::always_inline]] inline void narrow_eight(const float* from, Float16* to) {
  const float16x4_t low = vcvt_f16_f32(vld1q_f32(from));
  const float16x8_t values = vcvt_high_f16_f32(low, vld1q_f32(from + 4));
  vst1q_u16(reinterpret_cast<uint16_t*>(to), vreinterpretq_u16_f16(values));
}
#endif

// Converts 16 elements and advances. arm64 has instructions that load or store two vectors.
FERRY_CONVERTS [[gnu::always_inline]] inline void widen_sixteen(const Float16*& from, float*& to) {
#if defined(__aarch64__)
  uint16x8_t first, second;
  asm volatile("ldp %q0, %q1, [%2], #32" : "=w"(first), "=w"(second), "+r"(from) : : "memory");
  const float16x8_t low = vreinterpretq_f16_u16(first), high = vreinterpretq_f16_u16(second);
  neon::store_pair(to, vcvt_f32_f16(vget_low_f16(low)), vcvt_high_f32_f16(low));
  neon::store_pair(to, vcvt_f32_f16(vget_low_f16(high)), vcvt_high_f32_f16(high));
#else
  widen_eight(from, to);
  widen_eight(from + kVectorLanes, to + kVectorLanes);
  from += 2 * kVectorLanes;
  to += 2 * kVectorLanes;
#endif
}
FERRY_CONVERTS [[gnu::always_inline]] inline void narrow_sixteen(const float*& from, Float16*& to) {
#if defined(__aarch64__)
  float32x4_t wide[4];
  asm volatile("ldp %q0, %q1, [%2], #32" : "=w"(wide[0]), "=w"(wide[1]), "+r"(from) : : "memory");
  asm volatile("ldp %q0, %q1, [%2], #32" : "=w"(wide[2]), "=w"(wide[3]), "+r"(from) : : "memory");
  const float16x8_t low = vcvt_high_f16_f32(vcvt_f16_f32(wide[0]), wide[1]);
  const float16x8_t high = vcvt_high_f16_f32(vcvt_f16_f32(wide[2]), wide[3]);
  asm volatile("stp %q1, %q2, [%0], #32" : "+r"(to) : "w"(low), "w"(high) : "memory");
#else
  narrow_eight(from, to);
  narrow_eight(from + kVectorLanes, to + kVectorLanes);
  from += 2 * kVectorLanes;
  to += 2 * kVectorLanes;
#endif
}

// Fewer than 8 elements. Separate, so that the common case stays short.
FERRY_CONVERTS [[gnu::noinline]] void widen_rest(const Float16* from, float* to, size_t count) {
  Float16 rest[kVectorLanes] = {};
  float wide[kVectorLanes];
  std::memcpy(rest, from, count * sizeof(Float16));
  widen_eight(rest, wide);
  std::memcpy(to, wide, count * sizeof(float));
}
FERRY_CONVERTS [[gnu::noinline]] void narrow_rest(const float* from, Float16* to, size_t count) {
  float rest[kVectorLanes] = {};
  Float16 narrowed[kVectorLanes];
  std::memcpy(rest, from, count * sizeof(float));
  narrow_eight(rest, narrowed);
  std::memcpy(to, narrowed, count * sizeof(Float16));
}

FERRY_CONVERTS void widen_vectors(const Float16* from, float* to, size_t count) {
  for (; count >= 2 * kVectorLanes; count -= 2 * kVectorLanes) widen_sixteen(from, to);
  if (count >= kVectorLanes) {
    widen_eight(from, to);
    from += kVectorLanes;
    to += kVectorLanes;
    count -= kVectorLanes;
  }
  if (count > 0) widen_rest(from, to, count);
}

FERRY_CONVERTS void narrow_vectors(const float* from, Float16* to, size_t count) {
  for (; count >= 2 * kVectorLanes; count -= 2 * kVectorLanes) narrow_sixteen(from, to);
  if (count >= kVectorLanes) {
    narrow_eight(from, to);
    from += kVectorLanes;
    to += kVectorLanes;
    count -= kVectorLanes;
  }
  if (count > 0) narrow_rest(from, to, count);
}

}  // namespace

void widen(const Float16* from, float* to, size_t count) {
#if defined(__x86_64__)
  if (!cpu_features().float16) return widen_each(from, to, count);
#endif
  widen_vectors(from, to, count);
}

void narrow(const float* from, Float16* to, size_t count) {
#if defined(__x86_64__)
  if (!cpu_features().float16) return narrow_each(from, to, count);
#endif
  narrow_vectors(from, to, count);
}
#else
void widen(const Float16* from, float* to, size_t count) { widen_each(from, to, count); }
void narrow(const float* from, Float16* to, size_t count) { narrow_each(from, to, count); }
#endif

}  // namespace ferry::cpu
