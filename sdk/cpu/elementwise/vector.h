// Vectors for kernels that are written once for several machines. Lane is the type of an element, Lanes a mask of
// active lanes. Functions that use them are FERRY_VECTORS, since AVX-512 and AVX2 are selected at run time. Files for
// AVX2 define FERRY_AVX2_VECTORS; files for float16 (ARMv8.2) define FERRY_FLOAT16_VECTORS.
#pragma once

#include <cstddef>

#if defined(__x86_64__) && defined(__gnu_linux__)

#include <immintrin.h>

#if defined(FERRY_AVX2_VECTORS)

#define FERRY_VECTOR_SPACE avx2
#define FERRY_VECTORS [[gnu::target("avx2,fma")]]
#define FERRY_IN_VECTOR_REGISTER(value) asm("" : "+x"(value))

namespace ferry::cpu::avx2 {

using Lane = float;
using Vector = __m256;
constexpr size_t kLanes = 8, kRegisters = 16;
struct Lanes {
  alignas(32) int each[kLanes];  // -1 for active lanes
};
constexpr Lanes kNoLanes{}, kAllLanes{{-1, -1, -1, -1, -1, -1, -1, -1}};

constexpr Lanes first_lanes(size_t count) {
  Lanes lanes{};
  for (size_t i = 0; i < count; ++i) lanes.each[i] = -1;
  return lanes;
}

FERRY_VECTORS [[gnu::always_inline]] inline __m256i mask(const Lanes& lanes) {
  return _mm256_load_si256(reinterpret_cast<const __m256i*>(lanes.each));
}
FERRY_VECTORS [[gnu::always_inline]] inline Vector load(const float* from) { return _mm256_loadu_ps(from); }
// Inactive lanes read as zero; their memory is not accessed.
FERRY_VECTORS [[gnu::always_inline]] inline Vector load(const float* from, const Lanes& lanes) {
  return _mm256_maskload_ps(from, mask(lanes));
}
FERRY_VECTORS [[gnu::always_inline]] inline void store(float* to, Vector value) { _mm256_storeu_ps(to, value); }
FERRY_VECTORS [[gnu::always_inline]] inline void store(float* to, Vector value, const Lanes& lanes) {
  if (lanes.each[kLanes - 1] != 0) return store(to, value);  // all active: a masked store is much slower
  _mm256_maskstore_ps(to, mask(lanes), value);
}
FERRY_VECTORS [[gnu::always_inline]] inline Vector repeat(float value) { return _mm256_set1_ps(value); }
FERRY_VECTORS [[gnu::always_inline]] inline Vector multiply_add(Vector a, Vector b, Vector sum) {
  return _mm256_fmadd_ps(a, b, sum);
}
// NaN propagates.
FERRY_VECTORS [[gnu::always_inline]] inline Vector clamp(Vector value, Vector low, Vector high) {
  return _mm256_min_ps(high, _mm256_max_ps(low, value));
}

}  // namespace ferry::cpu::avx2

#else

#define FERRY_VECTOR_SPACE avx512
#define FERRY_VECTORS [[gnu::target("avx512f")]]
#define FERRY_IN_VECTOR_REGISTER(value) asm("" : "+v"(value))

namespace ferry::cpu::avx512 {

using Lane = float;
using Vector = __m512;
using Lanes = __mmask16;  // one bit per lane
constexpr size_t kLanes = 16, kRegisters = 32;
constexpr Lanes kNoLanes = 0, kAllLanes = 0xffff;  // gcc 12 warns of the forms without a mask

constexpr Lanes first_lanes(size_t count) { return static_cast<Lanes>((1u << count) - 1); }

FERRY_VECTORS [[gnu::always_inline]] inline Vector load(const float* from) { return _mm512_loadu_ps(from); }
// Inactive lanes read as zero; their memory is not accessed.
FERRY_VECTORS [[gnu::always_inline]] inline Vector load(const float* from, Lanes lanes) {
  return _mm512_maskz_loadu_ps(lanes, from);
}
FERRY_VECTORS [[gnu::always_inline]] inline void store(float* to, Vector value) { _mm512_storeu_ps(to, value); }
FERRY_VECTORS [[gnu::always_inline]] inline void store(float* to, Vector value, Lanes lanes) {
  _mm512_mask_storeu_ps(to, lanes, value);
}
FERRY_VECTORS [[gnu::always_inline]] inline Vector repeat(float value) { return _mm512_set1_ps(value); }
FERRY_VECTORS [[gnu::always_inline]] inline Vector multiply_add(Vector a, Vector b, Vector sum) {
  return _mm512_fmadd_ps(a, b, sum);
}
// NaN propagates.
FERRY_VECTORS [[gnu::always_inline]] inline Vector clamp(Vector value, Vector low, Vector high) {
  return _mm512_maskz_min_ps(kAllLanes, high, _mm512_maskz_max_ps(kAllLanes, low, value));
}

}  // namespace ferry::cpu::avx512

#endif

namespace ferry::cpu::FERRY_VECTOR_SPACE {

// Loads vector `index` (a constant) of vectors that lie `step` apart. Call with consecutive indices.
template <bool kMasked>
FERRY_VECTORS [[gnu::always_inline]] inline Vector next(const float*& from, size_t step, size_t index,
                                                        const Lanes& lanes) {
  if (index % 3 == 0 && index != 0) from += 3 * step;
  asm("" : "+r"(from));  // otherwise gcc keeps a register for each distance
  const float* at = from + index % 3 * step;
  return kMasked ? load(at, lanes) : load(at);
}
FERRY_VECTORS [[gnu::always_inline]] inline Vector load_next(const float*& from) {
  from += kLanes;
  return load(from - kLanes);
}
FERRY_VECTORS [[gnu::always_inline]] inline void store_next(float*& to, size_t step, Vector value, const Lanes& lanes) {
  store(to, value, lanes);
  to += step;
}

}  // namespace ferry::cpu::FERRY_VECTOR_SPACE

#elif defined(__aarch64__)

#include <arm_neon.h>

#include <cstdint>

#define FERRY_VECTORS
#define FERRY_IN_VECTOR_REGISTER(value) asm("" : "+w"(value))

#if defined(FERRY_FLOAT16_VECTORS)

#define FERRY_VECTOR_SPACE neon_float16
#define FERRY_LANES "8h"

namespace ferry::cpu::neon_float16 {

using Lane = __fp16;
using Vector = float16x8_t;
constexpr size_t kLanes = 8;

[[gnu::always_inline]] inline Vector load(const Lane* from) {
  return vreinterpretq_f16_u16(vld1q_u16(reinterpret_cast<const uint16_t*>(from)));
}
[[gnu::always_inline]] inline void store(Lane* to, Vector value) {
  vst1q_u16(reinterpret_cast<uint16_t*>(to), vreinterpretq_u16_f16(value));
}
[[gnu::always_inline]] inline Vector repeat(Lane value) {
  return Vector{value, value, value, value, value, value, value, value};
}
// Inline assembly, since other files include this header without being compiled for ARMv8.2 (cmake/sdk.cmake).
[[gnu::always_inline]] inline Vector multiply_add(Vector a, Vector b, Vector sum) {
  asm("fmla %0.8h, %1.8h, %2.8h" : "+w"(sum) : "w"(a), "w"(b));
  return sum;
}
[[gnu::always_inline]] inline Vector maximum_of(Vector a, Vector b) {
  asm("fmax %0.8h, %0.8h, %1.8h" : "+w"(a) : "w"(b));
  return a;
}
[[gnu::always_inline]] inline Vector minimum_of(Vector a, Vector b) {
  asm("fmin %0.8h, %0.8h, %1.8h" : "+w"(a) : "w"(b));
  return a;
}

#else

#define FERRY_VECTOR_SPACE neon
#define FERRY_LANES "4s"

namespace ferry::cpu::neon {

using Lane = float;
using Vector = float32x4_t;
constexpr size_t kLanes = 4;

[[gnu::always_inline]] inline Vector load(const Lane* from) { return vld1q_f32(from); }
[[gnu::always_inline]] inline void store(Lane* to, Vector value) { vst1q_f32(to, value); }
[[gnu::always_inline]] inline Vector repeat(Lane value) { return vdupq_n_f32(value); }
[[gnu::always_inline]] inline Vector multiply_add(Vector a, Vector b, Vector sum) { return vfmaq_f32(sum, a, b); }
[[gnu::always_inline]] inline Vector maximum_of(Vector a, Vector b) { return vmaxq_f32(a, b); }
[[gnu::always_inline]] inline Vector minimum_of(Vector a, Vector b) { return vminq_f32(a, b); }

#endif

using Lanes = bool;  // all or none
constexpr Lanes kNoLanes = false, kAllLanes = true;
constexpr size_t kRegisters = 32;

constexpr Lanes first_lanes(size_t) { return true; }

[[gnu::always_inline]] inline void store(Lane* to, Vector value, Lanes) { store(to, value); }
// Loads the vector and advances by `step`; gcc 12 would use a separate addition. The functions that advance do not
// declare that they read memory: use them for memory that the calling function does not write, or writes later.
template <bool kMasked>
[[gnu::always_inline]] inline Vector next(const Lane*& from, size_t step, size_t, Lanes) {
  Vector value;
  asm("ld1 {%0." FERRY_LANES "}, [%1], %2" : "=w"(value), "+r"(from) : "r"(step * sizeof(Lane)));
  return value;
}
[[gnu::always_inline]] inline Vector load_next(const Lane*& from) {
  Vector value;
  asm("ldr %q0, [%1], #16" : "=w"(value), "+r"(from));
  return value;
}
[[gnu::always_inline]] inline void store_next(Lane*& to, size_t step, Vector value, Lanes) {
  asm volatile("st1 {%1." FERRY_LANES "}, [%0], %2" : "+r"(to) : "w"(value), "r"(step * sizeof(Lane)) : "memory");
}
// Two vectors by one instruction, which advances the pointer.
[[gnu::always_inline]] inline void load_pair(const Lane*& from, Vector& first, Vector& second) {
  asm("ldp %q0, %q1, [%2], #32" : "=w"(first), "=w"(second), "+r"(from));
}
[[gnu::always_inline]] inline void store_pair(Lane*& to, Vector first, Vector second) {
  asm volatile("stp %q1, %q2, [%0], #32" : "+r"(to) : "w"(first), "w"(second) : "memory");
}
[[gnu::always_inline]] inline Vector clamp(Vector value, Vector low, Vector high) {
  return minimum_of(maximum_of(value, low), high);
}

}  // namespace ferry::cpu::FERRY_VECTOR_SPACE

#endif

#if defined(FERRY_VECTOR_SPACE)
namespace ferry::cpu {
using namespace FERRY_VECTOR_SPACE;
}
#endif
