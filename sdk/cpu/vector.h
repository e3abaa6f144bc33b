// Vectors for kernels that are written once for AVX-512 and arm64: floats, and which lanes of them count. Functions
// that use them are FERRY_VECTORS, as AVX-512 is chosen when the library runs.
#pragma once

#include <cstddef>

#if defined(__x86_64__) && defined(__gnu_linux__)

#include <immintrin.h>

#define FERRY_VECTORS [[gnu::target("avx512f")]]
#define FERRY_IN_VECTOR_REGISTER(value) asm("" : "+v"(value))

namespace ferry::cpu {

using Vector = __m512;
using Lanes = __mmask16;  // a bit each
constexpr size_t kLanes = 16;
constexpr Lanes kNoLanes = 0, kAllLanes = 0xffff;  // gcc 12 warns of the forms without a mask

FERRY_VECTORS [[gnu::always_inline]] inline Vector load(const float* from) { return _mm512_loadu_ps(from); }
// Lanes that do not count are zeros, and their memory is not touched.
FERRY_VECTORS [[gnu::always_inline]] inline Vector load(const float* from, Lanes lanes) {
  return _mm512_maskz_loadu_ps(lanes, from);
}
FERRY_VECTORS [[gnu::always_inline]] inline void store(float* to, Vector value) { _mm512_storeu_ps(to, value); }
FERRY_VECTORS [[gnu::always_inline]] inline void store(float* to, Vector value, Lanes lanes) {
  _mm512_mask_storeu_ps(to, lanes, value);
}
// The one `index` (known when compiled) of those that lie `step` apart, taken one after another.
template <bool kMasked>
FERRY_VECTORS [[gnu::always_inline]] inline Vector next(const float*& from, size_t step, size_t index, Lanes lanes) {
  if (index % 3 == 0 && index != 0) from += 3 * step;
  asm("" : "+r"(from));  // gcc would keep a register for each distance
  const float* at = from + index % 3 * step;
  return kMasked ? load(at, lanes) : load(at);
}
FERRY_VECTORS [[gnu::always_inline]] inline Vector load_next(const float*& from) {
  from += kLanes;
  return load(from - kLanes);
}
FERRY_VECTORS [[gnu::always_inline]] inline void store_next(float*& to, size_t step, Vector value, Lanes lanes) {
  store(to, value, lanes);
  to += step;
}
FERRY_VECTORS [[gnu::always_inline]] inline Vector repeat(float value) { return _mm512_set1_ps(value); }
FERRY_VECTORS [[gnu::always_inline]] inline Vector multiply_add(Vector a, Vector b, Vector sum) {
  return _mm512_fmadd_ps(a, b, sum);
}
// A NaN passes.
FERRY_VECTORS [[gnu::always_inline]] inline Vector clamp(Vector value, Vector low, Vector high) {
  return _mm512_maskz_min_ps(kAllLanes, high, _mm512_maskz_max_ps(kAllLanes, low, value));
}

}  // namespace ferry::cpu

#elif defined(__aarch64__)

#include <arm_neon.h>

#define FERRY_VECTORS
#define FERRY_IN_VECTOR_REGISTER(value) asm("" : "+w"(value))

namespace ferry::cpu {

using Vector = float32x4_t;
using Lanes = bool;  // all or none
constexpr size_t kLanes = 4;
constexpr Lanes kNoLanes = false, kAllLanes = true;

[[gnu::always_inline]] inline Vector load(const float* from) { return vld1q_f32(from); }
[[gnu::always_inline]] inline void store(float* to, Vector value) { vst1q_f32(to, value); }
[[gnu::always_inline]] inline void store(float* to, Vector value, Lanes) { vst1q_f32(to, value); }
// The next of those that lie `step` apart. gcc 12 would add to the address by itself. Of all that goes on to what
// follows it does not know that memory is read: for what the function that calls these does not write, or writes later.
template <bool kMasked>
[[gnu::always_inline]] inline Vector next(const float*& from, size_t step, size_t, Lanes) {
  Vector value;
  asm("ld1 {%0.4s}, [%1], %2" : "=w"(value), "+r"(from) : "r"(step * sizeof(float)));
  return value;
}
[[gnu::always_inline]] inline Vector load_next(const float*& from) {
  Vector value;
  asm("ldr %q0, [%1], #16" : "=w"(value), "+r"(from));
  return value;
}
[[gnu::always_inline]] inline void store_next(float*& to, size_t step, Vector value, Lanes) {
  asm volatile("st1 {%1.4s}, [%0], %2" : "+r"(to) : "w"(value), "r"(step * sizeof(float)) : "memory");
}
// Two vectors by one instruction, which goes on to the next.
[[gnu::always_inline]] inline void load_pair(const float*& from, Vector& first, Vector& second) {
  asm("ldp %q0, %q1, [%2], #32" : "=w"(first), "=w"(second), "+r"(from));
}
[[gnu::always_inline]] inline void store_pair(float*& to, Vector first, Vector second) {
  asm volatile("stp %q1, %q2, [%0], #32" : "+r"(to) : "w"(first), "w"(second) : "memory");
}
[[gnu::always_inline]] inline Vector repeat(float value) { return vdupq_n_f32(value); }
[[gnu::always_inline]] inline Vector multiply_add(Vector a, Vector b, Vector sum) { return vfmaq_f32(sum, a, b); }
[[gnu::always_inline]] inline Vector clamp(Vector value, Vector low, Vector high) {
  return vminq_f32(vmaxq_f32(value, low), high);
}

}  // namespace ferry::cpu

#endif
