#include "sdk/cpu/gemm/linear_blocks.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include <algorithm>

#define FERRY_BLOCKS_VECTORS [[gnu::target("avx2,fma,f16c")]]
#include "sdk/cpu/gemm/linear_blocks_kernels.h"

namespace ferry::cpu {
namespace {

#define FERRY_INLINE FERRY_BLOCKS_VECTORS [[gnu::always_inline]] static inline

// pmaddubsw multiplies unsigned by signed bytes and saturates sums of two products, so a byte is multiplied as two
// nibbles. Eight sums of two products with a nibble fit 16 bits.
struct BlocksYmm {
  static constexpr size_t kLanes = 8, kPowers = 3;
  static constexpr int kByteZero = 128;
  using Ints = __m256i;
  using Floats = __m256;

  FERRY_INLINE __m256i load(const void* from) { return _mm256_loadu_si256(static_cast<const __m256i*>(from)); }
  FERRY_INLINE __m256i low(__m256i bytes) { return _mm256_and_si256(bytes, _mm256_set1_epi8(15)); }
  FERRY_INLINE __m256i high(__m256i bytes) { return low(_mm256_srli_epi16(bytes, 4)); }
  FERRY_INLINE __m256i products(__m256i sum, __m256i nibbles, const int8_t* x) {
    return _mm256_add_epi16(sum, _mm256_maddubs_epi16(nibbles, _mm256_set1_epi32(four(x))));
  }
  template <unsigned kBits>
  FERRY_INLINE Ints dot(const uint8_t* codes, const int8_t* x, int32_t sum) {
    __m256i lower = _mm256_setzero_si256(), upper = lower;
#pragma GCC unroll 8
    for (size_t g = 0; g < kBits; ++g) {
      const __m256i bytes = load(codes + g * kGroupBytes);
      lower = products(lower, low(bytes), x + 4 * g);
      upper = products(upper, high(bytes), x + 4 * g + (kBits == 4 ? kLinearBlock / 2 : 0));
    }
    const Ints low_sums = _mm256_madd_epi16(lower, _mm256_set1_epi16(1));
    const Ints high_sums = _mm256_madd_epi16(upper, _mm256_set1_epi16(kBits == 4 ? 1 : 16));
    return _mm256_add_epi32(_mm256_add_epi32(low_sums, high_sums), _mm256_set1_epi32(sum));
  }
  FERRY_INLINE Floats scales(const uint16_t* from, bool float16) {
    const __m128i stored = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    if (float16) return _mm256_cvtph_ps(stored);
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(stored), 16));
  }
  FERRY_INLINE Floats multiply_add(Floats scale, Ints sum, Floats total) {
    return _mm256_fmadd_ps(scale, _mm256_cvtepi32_ps(sum), total);
  }
  FERRY_INLINE void store(float* to, Floats value) { _mm256_storeu_ps(to, value); }
};

#undef FERRY_INLINE

constexpr BlockKernels kAvx2Blocks = kernels_of<BlocksYmm>("avx2");

}  // namespace

const BlockKernels* block_kernels_avx2() { return &kAvx2Blocks; }

}  // namespace ferry::cpu

#endif
