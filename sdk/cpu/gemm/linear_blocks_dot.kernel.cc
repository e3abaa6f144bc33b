// By instructions that sum products of four bytes.
#include "sdk/cpu/gemm/linear_blocks.h"

#if defined(__x86_64__)
#include <immintrin.h>
#define FERRY_BLOCKS_VECTORS [[gnu::target("avx512f,avx512bw,avx512vl,avx512vnni")]]
#elif defined(__aarch64__)
#include <arm_neon.h>
#if defined(__clang__)
#define FERRY_BLOCKS_VECTORS [[gnu::target("dotprod")]]
#else
#define FERRY_BLOCKS_VECTORS [[gnu::target("arch=armv8.2-a+dotprod")]]
#endif
#endif

#if defined(FERRY_BLOCKS_VECTORS)

#include <algorithm>

#include "sdk/cpu/gemm/linear_blocks_kernels.h"

namespace ferry::cpu {
namespace {

#define FERRY_INLINE FERRY_BLOCKS_VECTORS [[gnu::always_inline]] static inline

#if defined(__x86_64__)

// vpdpbusd multiplies unsigned by signed bytes. gcc 12 warns of forms without a mask.
struct BlocksDot {
  static constexpr size_t kLanes = 16, kPowers = 4;
  static constexpr int kByteZero = 128;
  static constexpr __mmask16 kAll = 0xffff;
  using Ints = __m512i;
  using Floats = __m512;

  FERRY_INLINE Ints products(Ints sum, __m512i codes, const int8_t* x) {
    return _mm512_dpbusd_epi32(sum, codes, _mm512_set1_epi32(four(x)));
  }
  template <unsigned kBits>
  FERRY_INLINE Ints dot(const uint8_t* codes, const int8_t* x, int32_t first) {
    const __m512i low = _mm512_set1_epi8(15);
    Ints sum = _mm512_set1_epi32(first), other = _mm512_setzero_si512();
#pragma GCC unroll 4
    for (size_t g = 0; g < 4; ++g) {
      const __m512i bytes = _mm512_loadu_si512(codes + g * kGroupBytes);
      if constexpr (kBits == 4) {
        sum = products(sum, _mm512_and_si512(bytes, low), x + 4 * g);
        other = products(other, _mm512_and_si512(_mm512_srli_epi16(bytes, 4), low), x + kLinearBlock / 2 + 4 * g);
      } else {
        sum = products(sum, bytes, x + 4 * g);
        other = products(other, _mm512_loadu_si512(codes + (4 + g) * kGroupBytes), x + kLinearBlock / 2 + 4 * g);
      }
    }
    return _mm512_add_epi32(sum, other);
  }
  FERRY_INLINE Floats scales(const uint16_t* from, bool float16) {
    const __m256i stored = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    if (float16) return _mm512_maskz_cvtph_ps(kAll, stored);
    return _mm512_castsi512_ps(_mm512_maskz_slli_epi32(kAll, _mm512_maskz_cvtepu16_epi32(kAll, stored), 16));
  }
  FERRY_INLINE Floats multiply_add(Floats scale, Ints sum, Floats total) {
    return _mm512_fmadd_ps(scale, _mm512_maskz_cvtepi32_ps(kAll, sum), total);
  }
  FERRY_INLINE void store(float* to, Floats value) { _mm512_storeu_ps(to, value); }
};

#else

struct BlocksDot : NeonBlocks {
  static constexpr size_t kPowers = 3;

  // Assembly, since clang 14 has the intrinsic only in files that are compiled for it.
  FERRY_INLINE Ints products(Ints sum, uint8x16_t codes, const int8_t* x) {
    asm("sdot %0.4s, %1.16b, %2.16b" : "+w"(sum) : "w"(codes), "w"(vdupq_n_s32(four(x))));
    return sum;
  }
  template <unsigned kBits>
  FERRY_INLINE Ints dot(const uint8_t* codes, const int8_t* x, int32_t first) {
    Ints sum = vdupq_n_s32(first), other = vdupq_n_s32(0);
#pragma GCC unroll 4
    for (size_t g = 0; g < 4; ++g) {
      const uint8x16_t bytes = vld1q_u8(codes + g * kGroupBytes);
      if constexpr (kBits == 4) {
        sum = products(sum, vandq_u8(bytes, vdupq_n_u8(15)), x + 4 * g);
        other = products(other, vshrq_n_u8(bytes, 4), x + kLinearBlock / 2 + 4 * g);
      } else {
        sum = products(sum, bytes, x + 4 * g);
        other = products(other, vld1q_u8(codes + (4 + g) * kGroupBytes), x + kLinearBlock / 2 + 4 * g);
      }
    }
    return vaddq_s32(sum, other);
  }
};

#endif

#undef FERRY_INLINE

constexpr BlockKernels kDotBlocks = kernels_of<BlocksDot>("dot");

}  // namespace

const BlockKernels* block_kernels_dot() { return &kDotBlocks; }

}  // namespace ferry::cpu

#endif
