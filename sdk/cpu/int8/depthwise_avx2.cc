#include "sdk/cpu/int8/depthwise.h"

#if defined(__x86_64__)

#include <immintrin.h>

#define FERRY_INT8_VECTORS [[gnu::target("avx2")]]
#include "sdk/cpu/int8/depthwise_kernels.h"

namespace ferry::cpu {
namespace {

#define FERRY_INLINE FERRY_INT8_VECTORS [[gnu::always_inline]] static inline

// pmaddubsw multiplies unsigned by signed bytes and saturates sums of two products. With the weight's magnitude as the
// unsigned factor no sum exceeds 16 bits. For a negative weight x is complemented: x w = |w| (~x + 1).
struct Ymm {
  static constexpr size_t kBytes = 32;
  static constexpr bool kFlip = false, kMagnitudes = true;
  using Bytes = __m256i;
  using Words = __m256i;
  using Ints = __m256i;
  using Floats = __m256;
  struct Weight {
    __m256i magnitude, negative;
  };

  FERRY_INLINE __m256i load(const void* from) { return _mm256_loadu_si256(static_cast<const __m256i*>(from)); }
  // Reads 15 bytes more at most.
  FERRY_INLINE Bytes load(const int8_t* from, size_t count) {
    if (count > kBytes / 2) return load(from);
    return _mm256_zextsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  }
  FERRY_INLINE Bytes flipped(Bytes x) { return x; }
  FERRY_INLINE Ints load_ints(const std::byte* from) { return load(from); }
  FERRY_INLINE Floats load_floats(const std::byte* from) { return _mm256_castsi256_ps(load(from)); }
  FERRY_INLINE Weight load_weight(const std::byte* from) { return {load(from), load(from + kBytes)}; }
  FERRY_INLINE Ints dot(Ints sum, Bytes x, const Weight& weight) {
    const __m256i pairs = _mm256_maddubs_epi16(weight.magnitude, _mm256_xor_si256(x, weight.negative));
    return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
  }
  FERRY_INLINE void in_register(Ints& value) { asm("" : "+x"(value)); }
  FERRY_INLINE void store(int8_t* to, Bytes value) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), value); }
  FERRY_INLINE void store(int8_t* to, Bytes value, size_t count) {
    if (count == kBytes) return store(to, value);
    __m128i rest = _mm256_castsi256_si128(value);
    if (count >= kBytes / 2) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to), rest);
      rest = _mm256_extracti128_si256(value, 1);
      to += kBytes / 2;
      count -= kBytes / 2;
    }
    alignas(16) int8_t bytes[kBytes / 2];
    _mm_store_si128(reinterpret_cast<__m128i*>(bytes), rest);
    if (count > 0) std::memcpy(to, bytes, count);
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

    FERRY_INT8_VECTORS [[gnu::always_inline]] Rounding(int32_t zero, int32_t minimum, int32_t maximum)
        : top(_mm256_set1_ps(static_cast<float>(maximum - zero))),
          zero_point(_mm256_set1_epi16(static_cast<int16_t>(zero))),
          low(_mm256_set1_epi8(static_cast<int8_t>(minimum))) {}
    // The conversion returns the minimum for numbers that no integer holds: only large ones need a bound before it.
    FERRY_INT8_VECTORS [[gnu::always_inline]] Ints rounded(Ints sum, Floats multiplier) const {
      return _mm256_cvtps_epi32(_mm256_min_ps(_mm256_mul_ps(_mm256_cvtepi32_ps(sum), multiplier), top));
    }
    FERRY_INT8_VECTORS [[gnu::always_inline]] Words narrowed(Ints first, Ints second) const {
      return _mm256_adds_epi16(_mm256_packs_epi32(first, second), zero_point);
    }
    FERRY_INT8_VECTORS [[gnu::always_inline]] Bytes bytes_of(Words first, Words second) const {
      return _mm256_max_epi8(_mm256_packs_epi16(first, second), low);
    }
  };
};

#undef FERRY_INLINE

constexpr Int8DepthwiseKernel kYmm = Blocks<Ymm, Ymm>::kernel("int8_depthwise_avx2");

}  // namespace

const Int8DepthwiseKernel* int8_depthwise_avx2() { return &kYmm; }

}  // namespace ferry::cpu

#else

namespace ferry::cpu {

const Int8DepthwiseKernel* int8_depthwise_avx2() { return nullptr; }

}  // namespace ferry::cpu

#endif
