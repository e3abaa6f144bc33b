#include "sdk/image/frame_lines.h"

#include <algorithm>

#if defined(__aarch64__)
#include <arm_neon.h>
#elif defined(__x86_64__)
#include <immintrin.h>
#endif

#include "sdk/image/frame_colours.h"
#include "sdk/kernel.h"

namespace ferry::image {
namespace {

// Samples per iteration, so that their sums stay in registers; without vectors there are no such iterations.
[[maybe_unused]] constexpr int kBytes = 32;

// Products are truncated (half a bit on average), or rounded.
#if defined(__aarch64__)
// Sums of 32 columns.
struct Sums {
  int16x8_t a = vdupq_n_s16(-kGray * (1 << kLevelBits)), b = a, c = a, d = a;

  // Adds a row with one of four weights.
  template <int kWeight>
  [[gnu::always_inline]] void add(const uint8_t* row, int16x4_t weights) {
    const uint8x16_t left = vld1q_u8(row), right = vld1q_u8(row + 16);
    // Wraps around in 16 bits; the subtraction of kGray corrects it.
    const auto sum = [weights](int16x8_t so_far, uint16x8_t samples) {
      return vaddq_s16(so_far, vqrdmulhq_lane_s16(vreinterpretq_s16_u16(samples), weights, kWeight));
    };
    a = sum(a, vshll_n_u8(vget_low_u8(left), kLevelBits));
    b = sum(b, vshll_high_n_u8(left, kLevelBits));
    c = sum(c, vshll_n_u8(vget_low_u8(right), kLevelBits));
    d = sum(d, vshll_high_n_u8(right, kLevelBits));
  }
};

// A single row has weight 1.
FERRY_KERNEL void widen(const uint8_t* from, int count, int16_t* sums) {
  const uint8x16_t gray = vdupq_n_u8(kGray);
  for (int next = 0; next < count; next += kBytes) {
    const int i = std::min(next, count - kBytes);
    const int8x16_t left = vreinterpretq_s8_u8(veorq_u8(vld1q_u8(from + i), gray));
    const int8x16_t right = vreinterpretq_s8_u8(veorq_u8(vld1q_u8(from + i + 16), gray));
    vst1q_s16(sums + i, vshll_n_s8(vget_low_s8(left), kLevelBits));
    vst1q_s16(sums + i + 8, vshll_high_n_s8(left, kLevelBits));
    vst1q_s16(sums + i + 16, vshll_n_s8(vget_low_s8(right), kLevelBits));
    vst1q_s16(sums + i + 24, vshll_high_n_s8(right, kLevelBits));
  }
}

}  // namespace

FERRY_KERNEL void add_rows(const uint8_t* from, int64_t stride, int step, const int16_t* weights, int rows, int count,
                           int16_t* sums) {
  if (step != 1 || count < kBytes) {
    for (int i = 0; i < count; ++i, from += step) {
      int sum = 0;
      for (int k = 0; k < rows; ++k) sum += (from[k * stride] - kGray) * weights[k];
      sums[i] = static_cast<int16_t>(sum >> (kWeightBits - kLevelBits));
    }
    return;
  }
  if (rows == 1) return widen(from, count, sums);
  for (int next = 0; next < count; next += kBytes) {
    const int i = std::min(next, count - kBytes);
    Sums of_columns;
    const uint8_t* row = from + i;
    int k = 0;
    for (; k + 4 <= rows; k += 4, row += 4 * stride) {
      const int16x4_t four = vld1_s16(weights + k);
      of_columns.add<0>(row, four), of_columns.add<1>(row + stride, four);
      of_columns.add<2>(row + 2 * stride, four), of_columns.add<3>(row + 3 * stride, four);
    }
    for (; k < rows; ++k, row += stride) of_columns.add<0>(row, vdup_n_s16(weights[k]));
    vst1q_s16(sums + i, of_columns.a), vst1q_s16(sums + i + 8, of_columns.b);
    vst1q_s16(sums + i + 16, of_columns.c), vst1q_s16(sums + i + 24, of_columns.d);
  }
}
#else
// Rows per pass, so that sums are read and written once for all of them.
constexpr int kAtOnce = 4;

template <typename At>
[[gnu::always_inline]] inline void add(const uint8_t* from, int64_t stride, const int16_t* weights, int rows, int count,
                                       int16_t* sums, const At& at) {
  std::fill(sums, sums + count, static_cast<int16_t>(rows / 2));
  for (int k = 0; k < rows; k += kAtOnce, from += kAtOnce * stride) {
    const uint8_t* row[kAtOnce];
    int16_t weight[kAtOnce];
    for (int j = 0; j < kAtOnce; ++j) {
      row[j] = k + j < rows ? from + j * stride : from;
      weight[j] = k + j < rows ? weights[k + j] : int16_t{0};
    }
    FERRY_INDEPENDENT
    for (int i = 0; i < count; ++i) {
      const auto part = [&](int j) { return times(static_cast<int16_t>((row[j][at(i)] - kGray) * 256), weight[j]); };
      sums[i] = static_cast<int16_t>(sums[i] + part(0) + part(1) + part(2) + part(3));
    }
  }
}

#if defined(__x86_64__)
// Twice as fast as gcc's code for the loop above: one instruction moves bytes to the upper half of 16 bits.
[[gnu::target("avx2")]] void add_rows_avx2(const uint8_t* from, int64_t stride, const int16_t* weights, int rows,
                                           int count, int16_t* sums) {
  const __m256i zero = _mm256_setzero_si256(), half = _mm256_set1_epi16(static_cast<int16_t>(rows / 2));
  const __m256i gray = _mm256_set1_epi8(static_cast<char>(kGray));
  for (int next = 0; next < count; next += kBytes) {
    const int i = std::min(next, count - kBytes);
    const uint8_t* row = from + i;
    __m256i low = half, high = half;  // of each half of a vector
    for (int k = 0; k < rows; ++k, row += stride) {
      const __m256i samples = _mm256_xor_si256(_mm256_loadu_si256(reinterpret_cast<const __m256i_u*>(row)), gray);
      const __m256i weight = _mm256_set1_epi16(weights[k]);
      low = _mm256_add_epi16(low, _mm256_mulhi_epi16(_mm256_unpacklo_epi8(zero, samples), weight));
      high = _mm256_add_epi16(high, _mm256_mulhi_epi16(_mm256_unpackhi_epi8(zero, samples), weight));
    }
    __m256i_u* to = reinterpret_cast<__m256i_u*>(sums + i);
    _mm256_storeu_si256(to, _mm256_permute2x128_si256(low, high, 0x20));
    _mm256_storeu_si256(to + 1, _mm256_permute2x128_si256(low, high, 0x31));
  }
}
#endif

}  // namespace

FERRY_KERNEL void add_rows(const uint8_t* from, int64_t stride, int step, const int16_t* weights, int rows, int count,
                           int16_t* sums) {
#if defined(__x86_64__)
  if (step == 1 && count >= kBytes && __builtin_cpu_supports("avx2"))
    return add_rows_avx2(from, stride, weights, rows, count, sums);
#endif
  if (step == 1) {
    add(from, stride, weights, rows, count, sums, [](int i) { return i; });
  } else {
    add(from, stride, weights, rows, count, sums, [step](int i) { return i * step; });
  }
}
#endif

FERRY_KERNEL void separate(const int16_t* both, int pairs, int16_t* first, int16_t* second) {
  FERRY_INDEPENDENT
  for (int i = 0; i < pairs; ++i) first[i] = both[2 * i], second[i] = both[2 * i + 1];
}

FERRY_KERNEL void spread(const int16_t* chroma, int count, int16_t* out) {
  FERRY_INDEPENDENT
  for (int i = 0; i < count / 2; ++i) out[2 * i] = out[2 * i + 1] = chroma[i];
  if (count % 2 != 0) out[count - 1] = chroma[count / 2];
}

FERRY_KERNEL void add_lines(const int16_t* const* lines, const int16_t* weights, int rows, int count, int16_t* out) {
#if defined(__aarch64__)
  for (int64_t i = 0; i < count; i += kTogether) {
    int16x8_t a = vdupq_n_s16(0), b = a, c = a, d = a;
    for (int k = 0; k < rows; ++k) {
      const int16_t *line = lines[k] + i, weight = weights[k];
      a = vqaddq_s16(a, vqrdmulhq_n_s16(vld1q_s16(line), weight));
      b = vqaddq_s16(b, vqrdmulhq_n_s16(vld1q_s16(line + 8), weight));
      c = vqaddq_s16(c, vqrdmulhq_n_s16(vld1q_s16(line + 16), weight));
      d = vqaddq_s16(d, vqrdmulhq_n_s16(vld1q_s16(line + 24), weight));
    }
    vst1q_s16(out + i, a), vst1q_s16(out + i + 8, b), vst1q_s16(out + i + 16, c), vst1q_s16(out + i + 24, d);
  }
#else
  constexpr int kPart = 64;  // samples whose sums stay in registers
  for (int begin = 0; begin < count; begin += kPart) {
    const int n = std::min(kPart, count - begin);
    int16_t sums[kPart] = {};
    for (int k = 0; k < rows; ++k) {
      const int16_t *line = lines[k] + begin, weight = weights[k];
      for (int i = 0; i < n; ++i) sums[i] = static_cast<int16_t>(sums[i] + times(line[i], weight));
    }
    // Products are truncated, by half a bit on average, and have one bit less.
    for (int i = 0; i < n; ++i) out[begin + i] = static_cast<int16_t>((sums[i] + rows / 2) * 2);
  }
#endif
}

}  // namespace ferry::image
