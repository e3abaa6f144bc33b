#include "sdk/cpu/int8/depthwise.h"

#if defined(__x86_64__)

#include <immintrin.h>

#define FERRY_INT8_VECTORS [[gnu::target("avx512f,avx512bw,avx512vl,avx512vnni")]]
#include "sdk/cpu/int8/depthwise_kernels.h"

namespace ferry::cpu {
namespace {

#define FERRY_INLINE FERRY_INT8_VECTORS [[gnu::always_inline]] static inline
#define FERRY_METHOD FERRY_INT8_VECTORS [[gnu::always_inline]]

// vpdpbusd multiplies unsigned by signed bytes: x + 128 by the weight. gcc 12 warns of the forms for 512 bits without a
// mask.
struct Zmm {
  static constexpr size_t kBytes = 64;
  static constexpr bool kFlip = true, kMagnitudes = false;
  static constexpr __mmask64 kBytesOf = ~__mmask64{0};
  static constexpr __mmask32 kWordsOf = ~__mmask32{0};
  static constexpr __mmask16 kIntsOf = 0xffff;
  using Bytes = __m512i;
  using Words = __m512i;
  using Ints = __m512i;
  using Floats = __m512;
  using Weight = __m512i;

  FERRY_INLINE __m512i load(const void* from) { return _mm512_loadu_si512(from); }
  FERRY_INLINE Bytes load(const int8_t* from, size_t count) {
    return _mm512_maskz_loadu_epi8(kBytesOf >> (kBytes - count), from);
  }
  FERRY_INLINE Bytes flipped(Bytes x) { return _mm512_xor_si512(x, _mm512_set1_epi8(-128)); }
  FERRY_INLINE Ints load_ints(const std::byte* from) { return load(from); }
  FERRY_INLINE Floats load_floats(const std::byte* from) { return _mm512_castsi512_ps(load(from)); }
  FERRY_INLINE Weight load_weight(const std::byte* from) { return load(from); }
  FERRY_INLINE Ints dot(Ints sum, Bytes x, Weight weight) { return _mm512_dpbusd_epi32(sum, x, weight); }
  FERRY_INLINE void in_register(Ints& value) { asm("" : "+v"(value)); }
  FERRY_INLINE void store(int8_t* to, Bytes value) { _mm512_storeu_si512(to, value); }
  FERRY_INLINE void store(int8_t* to, Bytes value, size_t count) {
    _mm512_mask_storeu_epi8(to, kBytesOf >> (kBytes - count), value);
  }
  FERRY_INLINE void interleave(const Bytes (&rows)[4], int8_t* to) {
    const Bytes a = _mm512_maskz_unpacklo_epi8(kBytesOf, rows[0], rows[1]);
    const Bytes b = _mm512_maskz_unpacklo_epi8(kBytesOf, rows[2], rows[3]);
    const Bytes c = _mm512_maskz_unpackhi_epi8(kBytesOf, rows[0], rows[1]);
    const Bytes d = _mm512_maskz_unpackhi_epi8(kBytesOf, rows[2], rows[3]);
    store(to, _mm512_maskz_unpacklo_epi16(kWordsOf, a, b));
    store(to + kBytes, _mm512_maskz_unpackhi_epi16(kWordsOf, a, b));
    store(to + 2 * kBytes, _mm512_maskz_unpacklo_epi16(kWordsOf, c, d));
    store(to + 3 * kBytes, _mm512_maskz_unpackhi_epi16(kWordsOf, c, d));
  }

  struct Rounding {
    __m512 top;
    __m512i zero_point, low;

    FERRY_METHOD Rounding(int32_t zero, int32_t minimum, int32_t maximum)
        : top(_mm512_set1_ps(static_cast<float>(maximum - zero))),
          zero_point(_mm512_set1_epi16(static_cast<int16_t>(zero))),
          low(_mm512_set1_epi8(static_cast<int8_t>(minimum))) {}
    // The conversion returns the minimum for numbers that no integer holds: only large ones need a bound before it.
    FERRY_METHOD Ints rounded(Ints sum, Floats multiplier) const {
      const __m512 units = _mm512_maskz_cvtepi32_ps(kIntsOf, sum) * multiplier;
      return _mm512_maskz_cvtps_epi32(kIntsOf, _mm512_maskz_min_ps(kIntsOf, units, top));
    }
    FERRY_METHOD Words narrowed(Ints first, Ints second) const {
      return _mm512_maskz_adds_epi16(kWordsOf, _mm512_maskz_packs_epi32(kWordsOf, first, second), zero_point);
    }
    FERRY_METHOD Bytes bytes_of(Words first, Words second) const {
      return _mm512_maskz_max_epi8(kBytesOf, _mm512_maskz_packs_epi16(kBytesOf, first, second), low);
    }
  };
};

struct Ymm {
  static constexpr size_t kBytes = 32;
  static constexpr bool kFlip = true, kMagnitudes = false;
  static constexpr __mmask32 kBytesOf = ~__mmask32{0};
  using Bytes = __m256i;
  using Words = __m256i;
  using Ints = __m256i;
  using Floats = __m256;
  using Weight = __m256i;

  FERRY_INLINE __m256i load(const void* from) { return _mm256_loadu_si256(static_cast<const __m256i*>(from)); }
  FERRY_INLINE Bytes load(const int8_t* from, size_t count) {
    return _mm256_maskz_loadu_epi8(kBytesOf >> (kBytes - count), from);
  }
  FERRY_INLINE Bytes flipped(Bytes x) { return _mm256_xor_si256(x, _mm256_set1_epi8(-128)); }
  FERRY_INLINE Ints load_ints(const std::byte* from) { return load(from); }
  FERRY_INLINE Floats load_floats(const std::byte* from) { return _mm256_castsi256_ps(load(from)); }
  FERRY_INLINE Weight load_weight(const std::byte* from) { return load(from); }
  FERRY_INLINE Ints dot(Ints sum, Bytes x, Weight weight) { return _mm256_dpbusd_epi32(sum, x, weight); }
  FERRY_INLINE void in_register(Ints& value) { asm("" : "+v"(value)); }
  FERRY_INLINE void store(int8_t* to, Bytes value) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), value); }
  FERRY_INLINE void store(int8_t* to, Bytes value, size_t count) {
    _mm256_mask_storeu_epi8(to, kBytesOf >> (kBytes - count), value);
  }
  FERRY_INLINE void interleave(const Bytes (&rows)[4], int8_t* to) {
    const Bytes a = _mm256_unpacklo_epi8(rows[0], rows[1]), b = _mm256_unpacklo_epi8(rows[2], rows[3]);
    const Bytes c = _mm256_unpackhi_epi8(rows[0], rows[1]), d = _mm256_unpackhi_epi8(rows[2], rows[3]);
    store(to, _mm256_unpacklo_epi16(a, b));
    store(to + kBytes, _mm256_unpackhi_epi16(a, b));
    store(to + 2 * kBytes, _mm256_unpacklo_epi16(c, d));
    store(to + 3 * kBytes, _mm256_unpackhi_epi16(c, d));
  }

  struct Rounding {
    __m256 top;
    __m256i zero_point, low;

    FERRY_METHOD Rounding(int32_t zero, int32_t minimum, int32_t maximum)
        : top(_mm256_set1_ps(static_cast<float>(maximum - zero))),
          zero_point(_mm256_set1_epi16(static_cast<int16_t>(zero))),
          low(_mm256_set1_epi8(static_cast<int8_t>(minimum))) {}
    FERRY_METHOD Ints rounded(Ints sum, Floats multiplier) const {
      return _mm256_cvtps_epi32(_mm256_min_ps(_mm256_cvtepi32_ps(sum) * multiplier, top));
    }
    FERRY_METHOD Words narrowed(Ints first, Ints second) const {
      return _mm256_adds_epi16(_mm256_packs_epi32(first, second), zero_point);
    }
    FERRY_METHOD Bytes bytes_of(Words first, Words second) const {
      return _mm256_max_epi8(_mm256_packs_epi16(first, second), low);
    }
  };
};

#undef FERRY_INLINE
#undef FERRY_METHOD

constexpr Int8DepthwiseKernel kDot = Blocks<Zmm, Ymm>::kernel("int8_depthwise_vnni");

}  // namespace

const Int8DepthwiseKernel* int8_depthwise_dot() { return &kDot; }

const Int8DepthwiseKernel* int8_depthwise_kernel(const CpuFeatures& cpu) {
  return cpu.avx512_vnni ? &kDot : cpu.avx2 ? int8_depthwise_avx2() : nullptr;
}

}  // namespace ferry::cpu

#elif defined(__aarch64__)

#include <arm_neon.h>

#if defined(__clang__)
#define FERRY_INT8_VECTORS [[gnu::target("dotprod")]]
#else
#define FERRY_INT8_VECTORS [[gnu::target("arch=armv8.2-a+dotprod")]]
#endif
#include "sdk/cpu/int8/depthwise_kernels.h"

namespace ferry::cpu {
namespace {

#define FERRY_INLINE FERRY_INT8_VECTORS [[gnu::always_inline]] static inline
#define FERRY_METHOD FERRY_INT8_VECTORS [[gnu::always_inline]]

struct Neon {
  static constexpr size_t kBytes = 16;
  static constexpr bool kFlip = false, kMagnitudes = false;
  using Bytes = int8x16_t;
  using Words = int16x8_t;
  using Ints = int32x4_t;
  using Floats = float32x4_t;
  using Weight = int8x16_t;

  FERRY_INLINE Bytes load(const void* from) { return vld1q_s8(static_cast<const int8_t*>(from)); }
  FERRY_INLINE Bytes load(const int8_t* from, size_t) { return load(from); }  // reads 15 bytes more at most
  FERRY_INLINE Bytes flipped(Bytes x) { return x; }
  FERRY_INLINE Ints load_ints(const std::byte* from) { return vreinterpretq_s32_s8(load(from)); }
  FERRY_INLINE Floats load_floats(const std::byte* from) { return vreinterpretq_f32_s8(load(from)); }
  FERRY_INLINE Weight load_weight(const std::byte* from) { return load(from); }
  // Assembly, since clang 14 has the intrinsic only in files that are compiled for it.
  FERRY_INLINE Ints dot(Ints sum, Bytes x, Weight weight) {
    asm("sdot %0.4s, %1.16b, %2.16b" : "+w"(sum) : "w"(x), "w"(weight));
    return sum;
  }
  FERRY_INLINE void in_register(Ints& value) { asm("" : "+w"(value)); }
  FERRY_INLINE void store(int8_t* to, Bytes value) { vst1q_s8(to, value); }
  FERRY_INLINE void store(int8_t* to, Bytes value, size_t count) {
    if (count == kBytes) return store(to, value);
    int8_t all[kBytes];
    store(all, value);
    std::memcpy(to, all, count);
  }
  FERRY_INLINE void interleave(const Bytes (&rows)[4], int8_t* to) {
    const int8x16x2_t even = vzipq_s8(rows[0], rows[2]), odd = vzipq_s8(rows[1], rows[3]);
    const int8x16x2_t first = vzipq_s8(even.val[0], odd.val[0]), last = vzipq_s8(even.val[1], odd.val[1]);
    store(to, first.val[0]);
    store(to + kBytes, first.val[1]);
    store(to + 2 * kBytes, last.val[0]);
    store(to + 3 * kBytes, last.val[1]);
  }

  struct Rounding {
    int16x8_t zero_point;
    int8x16_t low, high;

    FERRY_METHOD Rounding(int32_t zero, int32_t minimum, int32_t maximum)
        : zero_point(vdupq_n_s16(static_cast<int16_t>(zero))),
          low(vdupq_n_s8(static_cast<int8_t>(minimum))),
          high(vdupq_n_s8(static_cast<int8_t>(maximum))) {}
    FERRY_METHOD Ints rounded(Ints sum, Floats multiplier) const {
      return vcvtnq_s32_f32(vmulq_f32(vcvtq_f32_s32(sum), multiplier));
    }
    FERRY_METHOD Words narrowed(Ints first, Ints second) const {
      return vqaddq_s16(vqmovn_high_s32(vqmovn_s32(first), second), zero_point);
    }
    FERRY_METHOD Bytes bytes_of(Words first, Words second) const {
      return vminq_s8(vmaxq_s8(vqmovn_high_s16(vqmovn_s16(first), second), low), high);
    }
  };
};

#undef FERRY_INLINE
#undef FERRY_METHOD

constexpr Int8DepthwiseKernel kDot = Blocks<Neon, Neon>::kernel("int8_depthwise_sdot");

}  // namespace

const Int8DepthwiseKernel* int8_depthwise_dot() { return &kDot; }

const Int8DepthwiseKernel* int8_depthwise_kernel(const CpuFeatures& cpu) { return cpu.dot_products ? &kDot : nullptr; }

}  // namespace ferry::cpu

#else

namespace ferry::cpu {

const Int8DepthwiseKernel* int8_depthwise_dot() { return nullptr; }
const Int8DepthwiseKernel* int8_depthwise_kernel(const CpuFeatures&) { return nullptr; }

}  // namespace ferry::cpu

#endif
