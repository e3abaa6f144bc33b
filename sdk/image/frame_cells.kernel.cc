#include "sdk/image/frame_cells.h"

#include <algorithm>
#include <utility>

#if defined(__aarch64__)
#include <arm_neon.h>
#elif defined(__x86_64__)
#include <immintrin.h>
#endif

#include "sdk/kernel.h"

namespace ferry::image {
namespace {

constexpr int16_t kWhite = 255 << kSumBits;

#if !defined(__aarch64__)
// By value, so that compilers use min and max instructions.
template <typename T>
inline T lower(T a, T b) {
  return a < b ? a : b;
}
template <typename T>
inline T higher(T a, T b) {
  return a > b ? a : b;
}
#endif

#if defined(__aarch64__)
struct UV {
  uint8x16_t u, v;
};
inline UV load(const uint8_t* u, const uint8_t* v, bool pairs) {
  if (!pairs) return {vld1q_u8(u), vld1q_u8(v)};
  const uint8x16x2_t both = vld2q_u8(std::min(u, v));
  return u < v ? UV{both.val[0], both.val[1]} : UV{both.val[1], both.val[0]};
}

constexpr int kDoubled = kChromaShift - 1;  // fractional bits of products

// Checks blocks of four columns, with the ranges of luma and chroma in the block.
[[gnu::always_inline]] inline uint8_t clips(const Samples& samples, int x, const Clipping::Steps& steps) {
  static_assert(kCell == 32 && Clipping::kGroup == 2);
  const auto luma = [&](int row, int at) { return vld1q_u8(samples.luma[row] + x + at); };
  const uint8x16_t a = luma(0, 0), b = luma(1, 0), c = luma(2, 0), d = luma(3, 0);
  const uint8x16_t e = luma(0, 16), f = luma(1, 16), g = luma(2, 16), h = luma(3, 16);
  const uint8x16_t low_2 =
      vpminq_u8(vminq_u8(vminq_u8(a, b), vminq_u8(c, d)), vminq_u8(vminq_u8(e, f), vminq_u8(g, h)));
  const uint8x16_t high_2 =
      vpmaxq_u8(vmaxq_u8(vmaxq_u8(a, b), vmaxq_u8(c, d)), vmaxq_u8(vmaxq_u8(e, f), vmaxq_u8(g, h)));
  const uint8x8_t low = vget_low_u8(vpminq_u8(low_2, low_2)), high = vget_low_u8(vpmaxq_u8(high_2, high_2));
  const int chroma = samples.pairs ? x : x / 2;
  const UV first = load(samples.u[0] + chroma, samples.v[0] + chroma, samples.pairs);
  const UV second = load(samples.u[1] + chroma, samples.v[1] + chroma, samples.pairs);
  const uint8x16_t gray = vdupq_n_u8(kGray);
  const auto above_gray = [&](uint8x16_t uv) { return vreinterpretq_s8_u8(veorq_u8(uv, gray)); };
  const int8x16_t minimum = above_gray(vpminq_u8(vminq_u8(first.u, second.u), vminq_u8(first.v, second.v)));
  const int8x16_t maximum = above_gray(vpmaxq_u8(vmaxq_u8(first.u, second.u), vmaxq_u8(first.v, second.v)));
  const auto in_pixel = [&](int8x16_t uv, int8x16_t other, auto further) {
    const int16x8_t u = vshll_n_s8(vget_low_s8(uv), kDoubled), v = vshll_high_n_s8(uv, kDoubled);
    const int16x8_t green_u = vshll_n_s8(vget_low_s8(other), kDoubled), green_v = vshll_high_n_s8(other, kDoubled);
    const int16x8_t green = vaddq_s16(vqdmulhq_n_s16(green_u, steps.green_u), vqdmulhq_n_s16(green_v, steps.green_v));
    return further(further(vqdmulhq_n_s16(v, steps.red_v), vqdmulhq_n_s16(u, steps.blue_u)), green);
  };
  const int16x8_t darker = in_pixel(minimum, maximum, [](int16x8_t p, int16x8_t q) { return vminq_s16(p, q); });
  const int16x8_t lighter = in_pixel(maximum, minimum, [](int16x8_t p, int16x8_t q) { return vmaxq_s16(p, q); });
  const uint8x8_t lowest = vqshrun_n_s16(vsubq_s16(vdupq_n_s16(steps.darkest), darker), kSumBits);
  const uint8x8_t highest = vqshrun_n_s16(vsubq_s16(vdupq_n_s16(steps.lightest), lighter), kSumBits);
  return vmaxv_u8(vorr_u8(vclt_u8(low, lowest), vcgt_u8(high, highest))) & 1;
}

}  // namespace

FERRY_KERNEL int add_two(const Samples& samples, const int16_t* weights, const FixedMatrix& m, int16_t* const* sums) {
  const UV both = load(samples.u[0], samples.v[0], samples.pairs);
  const uint8x16_t gray = vdupq_n_u8(kGray);
  int8_t us[kCell], vs[kCell];  // one sample per column
  const auto spread = [&](uint8x16_t chroma, int8_t* to) {
    const int8x16_t above = vreinterpretq_s8_u8(veorq_u8(chroma, gray));
    vst1q_s8(to, vzip1q_s8(above, above)), vst1q_s8(to + kPairs, vzip2q_s8(above, above));
  };
  spread(both.u, us), spread(both.v, vs);
  int16x8_t red_seen = vdupq_n_s16(0), green_seen = red_seen, blue_seen = red_seen;
  const int16_t upper_weight = weights[0], lower_weight = weights[1];
  const FixedMatrix by = m;
  for (int x = 0; x < kCell; x += 8) {
    constexpr int kUp = kLumaShift - 1;
    const auto luma = [&](int row) {
      const auto levels = vreinterpretq_s16_u16(vshll_n_u8(vld1_u8(samples.luma[row] + x), kUp));
      return vqdmulhq_n_s16(vsubq_s16(levels, vdupq_n_s16(static_cast<int16_t>(by.black << kUp))), by.luma);
    };
    const int16x8_t upper = luma(0), lower = luma(1);
    const auto add = [&](int16_t* to, int16x8_t added, int16x8_t seen) {
      const auto beyond = [&](int16x8_t row) {
        const int16x8_t level = vaddq_s16(row, added);
        return vsubq_s16(level, vminq_s16(vmaxq_s16(level, vdupq_n_s16(0)), vdupq_n_s16(kWhite)));
      };
      const int16x8_t first = beyond(upper), second = beyond(lower);
      const int16x8_t sum = vaddq_s16(vld1q_s16(to + x), vqrdmulhq_n_s16(first, upper_weight));
      vst1q_s16(to + x, vaddq_s16(sum, vqrdmulhq_n_s16(second, lower_weight)));
      return vorrq_s16(seen, vorrq_s16(first, second));
    };
    const int16x8_t u = vshll_n_s8(vld1_s8(us + x), kDoubled), v = vshll_n_s8(vld1_s8(vs + x), kDoubled);
    red_seen = add(sums[0], vqdmulhq_n_s16(v, by.red_v), red_seen);
    const int16x8_t green = vaddq_s16(vqdmulhq_n_s16(u, by.green_u), vqdmulhq_n_s16(v, by.green_v));
    green_seen = add(sums[1], green, green_seen);
    blue_seen = add(sums[2], vqdmulhq_n_s16(u, by.blue_u), blue_seen);
  }
  const auto any = [](int16x8_t seen) { return vmaxvq_u16(vreinterpretq_u16_s16(seen)) != 0; };
  return any(red_seen) | any(green_seen) << 1 | any(blue_seen) << 2;
}
#else
inline int16_t above_gray(uint8_t chroma) { return static_cast<int16_t>((chroma - kGray) * (1 << kChromaShift)); }

// Checks pairs of columns, with the ranges of luma and chroma in the pair.
inline uint8_t clips(const Samples& samples, int x, const Clipping::Steps& m) {
  const int step = samples.pairs ? 2 : 1;
  for (int i = 0; i < kPairs; ++i) {
    const int at = x / 2 * step + i * step;
    const uint8_t u = samples.u[0][at], v = samples.v[0][at], other_u = samples.u[1][at], other_v = samples.v[1][at];
    const int16_t min_u = above_gray(lower(u, other_u)), max_u = above_gray(higher(u, other_u));
    const int16_t min_v = above_gray(lower(v, other_v)), max_v = above_gray(higher(v, other_v));
    const auto green = [&](int16_t of_u, int16_t of_v) {
      return static_cast<int16_t>(times(of_u, m.green_u) + times(of_v, m.green_v));
    };
    const int16_t darker = lower(lower(times(min_v, m.red_v), times(min_u, m.blue_u)), green(max_u, max_v));
    const int16_t lighter = higher(higher(times(max_v, m.red_v), times(max_u, m.blue_u)), green(min_u, min_v));
    for (const uint8_t* row : samples.luma) {
      for (const int luma : {row[x + 2 * i], row[x + 2 * i + 1]})
        if (luma < (m.darkest - darker) >> kSumBits || luma > (m.lightest - lighter) >> kSumBits) return 1;
    }
  }
  return 0;
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] inline __m256i load(const uint8_t* from) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i_u*>(from));
}
// Samples of a plane in the upper bytes of 16 bits.
[[gnu::target("avx2")]] inline __m256i wide(const uint8_t* from) {
  return _mm256_slli_epi16(_mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i_u*>(from))), 8);
}

// The same with intrinsics: gcc does not vectorise it.
[[gnu::target("avx2")]] void find_avx2(const Samples& samples, const Clipping::Steps& m, int cells, uint8_t* found) {
  static_assert(kCell == 32 && kLumaRows == 4);
  const __m256i gray = _mm256_set1_epi16(INT16_MIN), upper = _mm256_set1_epi16(static_cast<int16_t>(0xff00));
  const __m256i red_v = _mm256_set1_epi16(m.red_v), blue_u = _mm256_set1_epi16(m.blue_u);
  const __m256i green_u = _mm256_set1_epi16(m.green_u), green_v = _mm256_set1_epi16(m.green_v);
  const bool u_first = samples.u[0] < samples.v[0];
  for (int cell = 0, x = 0; cell < cells; ++cell, x += kCell) {
    const __m256i a = load(samples.luma[0] + x), b = load(samples.luma[1] + x);
    const __m256i c = load(samples.luma[2] + x), d = load(samples.luma[3] + x);
    const __m256i low = _mm256_min_epu8(_mm256_min_epu8(a, b), _mm256_min_epu8(c, d));
    const __m256i high = _mm256_max_epu8(_mm256_max_epu8(a, b), _mm256_max_epu8(c, d));
    __m256i min_u, max_u, min_v, max_v;
    if (samples.pairs) {
      const __m256i e = load((u_first ? samples.u[0] : samples.v[0]) + x);
      const __m256i f = load((u_first ? samples.u[1] : samples.v[1]) + x);
      const __m256i minimum = _mm256_min_epu8(e, f), maximum = _mm256_max_epu8(e, f);
      min_u = _mm256_slli_epi16(minimum, 8), max_u = _mm256_slli_epi16(maximum, 8);
      min_v = _mm256_and_si256(minimum, upper), max_v = _mm256_and_si256(maximum, upper);
      if (!u_first) std::swap(min_u, min_v), std::swap(max_u, max_v);
    } else {
      const __m256i e = wide(samples.u[0] + x / 2), f = wide(samples.u[1] + x / 2);
      const __m256i g = wide(samples.v[0] + x / 2), h = wide(samples.v[1] + x / 2);
      min_u = _mm256_min_epu8(e, f), max_u = _mm256_max_epu8(e, f);
      min_v = _mm256_min_epu8(g, h), max_v = _mm256_max_epu8(g, h);
    }
    min_u = _mm256_xor_si256(min_u, gray), max_u = _mm256_xor_si256(max_u, gray);
    min_v = _mm256_xor_si256(min_v, gray), max_v = _mm256_xor_si256(max_v, gray);
    const __m256i darker =
        _mm256_min_epi16(_mm256_min_epi16(_mm256_mulhi_epi16(min_v, red_v), _mm256_mulhi_epi16(min_u, blue_u)),
                         _mm256_add_epi16(_mm256_mulhi_epi16(max_u, green_u), _mm256_mulhi_epi16(max_v, green_v)));
    const __m256i lighter =
        _mm256_max_epi16(_mm256_max_epi16(_mm256_mulhi_epi16(max_v, red_v), _mm256_mulhi_epi16(max_u, blue_u)),
                         _mm256_add_epi16(_mm256_mulhi_epi16(min_u, green_u), _mm256_mulhi_epi16(min_v, green_v)));
    __m256i lowest = _mm256_srai_epi16(_mm256_sub_epi16(_mm256_set1_epi16(m.darkest), darker), kSumBits);
    __m256i highest = _mm256_srai_epi16(_mm256_sub_epi16(_mm256_set1_epi16(m.lightest), lighter), kSumBits);
    lowest = _mm256_or_si256(lowest, _mm256_slli_epi16(lowest, 8));  // for both columns
    highest = _mm256_or_si256(highest, _mm256_slli_epi16(highest, 8));
    const __m256i none = _mm256_and_si256(_mm256_cmpeq_epi8(_mm256_min_epu8(low, lowest), lowest),
                                          _mm256_cmpeq_epi8(_mm256_max_epu8(high, highest), highest));
    found[cell] = _mm256_movemask_epi8(none) == -1 ? 0 : 1;
  }
}

// As the loops below.
[[gnu::target("avx2")]] int add_two_avx2(const Samples& samples, const int16_t* weights, const FixedMatrix& m,
                                         int16_t* const* sums) {
  const __m256i gray = _mm256_set1_epi16(INT16_MIN), upper = _mm256_set1_epi32(0xff00);
  const __m256i first_weight = _mm256_set1_epi16(weights[0]), second_weight = _mm256_set1_epi16(weights[1]);
  const __m256i zero = _mm256_setzero_si256(), white = _mm256_set1_epi16(kWhite);
  const bool u_first = samples.u[0] < samples.v[0];
  __m256i seen[3] = {zero, zero, zero};
  for (int x = 0; x < kCell; x += 16) {
    __m256i u, v;  // in the upper half of the lower 16 of 32 bits, then of both
    if (samples.pairs) {
      const uint8_t* from = (u_first ? samples.u[0] : samples.v[0]) + x;
      const __m256i pairs = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i_u*>(from)));
      u = _mm256_and_si256(_mm256_slli_epi32(pairs, 8), upper), v = _mm256_and_si256(pairs, upper);
      if (!u_first) std::swap(u, v);
    } else {
      const auto* from_u = reinterpret_cast<const __m128i_u*>(samples.u[0] + x / 2);
      const auto* from_v = reinterpret_cast<const __m128i_u*>(samples.v[0] + x / 2);
      u = _mm256_slli_epi32(_mm256_cvtepu8_epi32(_mm_loadl_epi64(from_u)), 8);
      v = _mm256_slli_epi32(_mm256_cvtepu8_epi32(_mm_loadl_epi64(from_v)), 8);
    }
    u = _mm256_xor_si256(_mm256_or_si256(u, _mm256_slli_epi32(u, 16)), gray);
    v = _mm256_xor_si256(_mm256_or_si256(v, _mm256_slli_epi32(v, 16)), gray);
    __m256i luma[2];
    for (int row = 0; row < 2; ++row) {
      const auto* from = reinterpret_cast<const __m128i_u*>(samples.luma[row] + x);
      const __m256i levels = _mm256_sub_epi16(_mm256_cvtepu8_epi16(_mm_loadu_si128(from)), _mm256_set1_epi16(m.black));
      luma[row] = _mm256_mulhi_epi16(_mm256_slli_epi16(levels, kLumaShift), _mm256_set1_epi16(m.luma));
    }
    const __m256i added[] = {_mm256_mulhi_epi16(v, _mm256_set1_epi16(m.red_v)),
                             _mm256_add_epi16(_mm256_mulhi_epi16(u, _mm256_set1_epi16(m.green_u)),
                                              _mm256_mulhi_epi16(v, _mm256_set1_epi16(m.green_v))),
                             _mm256_mulhi_epi16(u, _mm256_set1_epi16(m.blue_u))};
    for (int c = 0; c < 3; ++c) {
      const __m256i a = _mm256_add_epi16(luma[0], added[c]), b = _mm256_add_epi16(luma[1], added[c]);
      const __m256i first = _mm256_sub_epi16(a, _mm256_min_epi16(_mm256_max_epi16(a, zero), white));
      const __m256i second = _mm256_sub_epi16(b, _mm256_min_epi16(_mm256_max_epi16(b, zero), white));
      const __m256i sum =
          _mm256_add_epi16(_mm256_mulhrs_epi16(first, first_weight), _mm256_mulhrs_epi16(second, second_weight));
      __m256i_u* to = reinterpret_cast<__m256i_u*>(sums[c] + x);
      _mm256_storeu_si256(to, _mm256_add_epi16(_mm256_loadu_si256(to), sum));
      seen[c] = _mm256_or_si256(seen[c], _mm256_or_si256(first, second));
    }
  }
  int colours = 0;
  for (int c = 0; c < 3; ++c) colours |= _mm256_testz_si256(seen[c], seen[c]) != 0 ? 0 : 1 << c;
  return colours;
}
#endif

// A weighted, rounded sample: one instruction on most machines.
inline int16_t weighted(int sample, int16_t weight) { return static_cast<int16_t>(((sample * weight >> 14) + 1) >> 1); }

}  // namespace

FERRY_KERNEL int add_two(const Samples& samples, const int16_t* weights, const FixedMatrix& matrix,
                         int16_t* const* sums) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return add_two_avx2(samples, weights, matrix, sums);
#endif
  const FixedMatrix m = matrix;
  const int step = samples.pairs ? 2 : 1;
  int16_t added[3][kCell];
  FERRY_INDEPENDENT
  for (int i = 0; i < kPairs; ++i) {
    const int16_t u = above_gray(samples.u[0][step * i]), v = above_gray(samples.v[0][step * i]);
    added[0][2 * i] = added[0][2 * i + 1] = times(v, m.red_v);
    added[1][2 * i] = added[1][2 * i + 1] = static_cast<int16_t>(times(u, m.green_u) + times(v, m.green_v));
    added[2][2 * i] = added[2][2 * i + 1] = times(u, m.blue_u);
  }
  int colours = 0;
  for (int row = 0; row < 2; ++row) {
    const int16_t weight = weights[row];
    int16_t luma[kCell];
    for (int i = 0; i < kCell; ++i)
      luma[i] = times(static_cast<int16_t>((samples.luma[row][i] - m.black) * (1 << kLumaShift)), m.luma);
    for (int c = 0; c < 3; ++c) {
      int16_t *to = sums[c], any = 0;
      FERRY_INDEPENDENT
      for (int i = 0; i < kCell; ++i) {
        const auto level = static_cast<int16_t>(luma[i] + added[c][i]);
        const auto beyond = static_cast<int16_t>(level - lower(higher<int16_t>(level, 0), kWhite));
        to[i] = static_cast<int16_t>(to[i] + weighted(beyond, weight));
        any |= beyond;
      }
      colours |= any != 0 ? 1 << c : 0;
    }
  }
  return colours;
}

#endif

FERRY_KERNEL void find_clipping(const Samples& side_by_side, const Clipping::Steps& steps, int cells, uint8_t* found) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return find_avx2(side_by_side, steps, cells, found);
#endif
  const Samples samples = side_by_side;
  const Clipping::Steps m = steps;
  for (int i = 0; i < cells; ++i) found[i] = clips(samples, i * kCell, m);
}

}  // namespace ferry::image
