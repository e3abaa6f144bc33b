#include "sdk/cpu/backend/features.h"
#include "sdk/cpu/int8/int8.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace ferry::cpu {
namespace {

#if defined(__x86_64__)

// Looks up a multiple of 32. pshufb reads the entry of the lower four bits, or 0 where the highest bit is set. Part i
// of the table, 16 entries, is XORed with the part before it: the parts up to an index's own add up to its entry, and
// the index minus 16 i is negative for those behind it. Each half of the table is looked up by itself: the other half's
// indices are negative and stay so.
[[gnu::target("avx2")]] size_t lookup_vectors(const int8_t* table, const int8_t* from, int8_t* to, size_t count) {
  constexpr size_t kBytes = 32, kParts = 8;
  __m256i parts[2][kParts];
  for (size_t half = 0; half < 2; ++half) {
    __m128i before = _mm_setzero_si128();
    for (size_t i = 0; i < kParts; ++i, table += 16) {
      const __m128i part = _mm_loadu_si128(reinterpret_cast<const __m128i*>(table));
      parts[half][i] = _mm256_broadcastsi128_si256(_mm_xor_si128(part, before));
      before = part;
    }
  }
  const __m256i sign = _mm256_set1_epi8(-128), step = _mm256_set1_epi8(16);
  size_t done = 0;
  for (; done + kBytes <= count; done += kBytes) {
    // Integers from -128 to -1 are the entries 0 to 127.
    __m256i upper = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + done));
    __m256i lower = _mm256_xor_si256(upper, sign);
    __m256i result = _mm256_setzero_si256(), other = _mm256_setzero_si256();
#pragma GCC unroll 8
    for (size_t i = 0; i < kParts; ++i) {
      result = _mm256_xor_si256(result, _mm256_shuffle_epi8(parts[0][i], lower));
      other = _mm256_xor_si256(other, _mm256_shuffle_epi8(parts[1][i], upper));
      lower = _mm256_subs_epi8(lower, step);
      upper = _mm256_subs_epi8(upper, step);
    }
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + done), _mm256_xor_si256(result, other));
  }
  return done;
}

#elif defined(__aarch64__)

// Looks up a multiple of 16. A quarter of the table leaves what is outside of it unchanged.
size_t lookup_vectors(const int8_t* table, const int8_t* from, int8_t* to, size_t count) {
  constexpr size_t kBytes = 16;
  int8x16x4_t quarters[4];
  for (size_t i = 0; i < 4; ++i) quarters[i] = vld1q_s8_x4(table + i * 64);
  const uint8x16_t sign = vdupq_n_u8(128), step = vdupq_n_u8(64);
  size_t done = 0;
  for (; done + kBytes <= count; done += kBytes) {
    uint8x16_t index = veorq_u8(vreinterpretq_u8_s8(vld1q_s8(from + done)), sign);
    int8x16_t result = vqtbl4q_s8(quarters[0], index);
    for (size_t i = 1; i < 4; ++i) {
      index = vsubq_u8(index, step);
      result = vqtbx4q_s8(result, quarters[i], index);
    }
    vst1q_s8(to + done, result);
  }
  return done;
}

#endif

}  // namespace

void lookup(const int8_t* table, const int8_t* from, int8_t* to, size_t count) {
  size_t done = 0;
#if defined(__x86_64__)
  if (cpu_features().avx2) done = lookup_vectors(table, from, to, count);
#elif defined(__aarch64__)
  done = lookup_vectors(table, from, to, count);
#endif
  for (; done < count; ++done) to[done] = table[from[done] + 128];
}

}  // namespace ferry::cpu
