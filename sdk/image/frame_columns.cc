#include "sdk/image/frame_columns.h"

#include <algorithm>

#if defined(__aarch64__)
#include <arm_neon.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "sdk/kernel.h"

namespace ferry::image {
namespace {

constexpr size_t kVector = 8;
constexpr int kAtOnce = 4;  // outputs

// Sums of products of 16 bits, some of them side by side, a vector at a time; store() adds up those of four outputs.
#if defined(__aarch64__)
typedef int32x4_t Sums;
inline Sums zero() { return vdupq_n_s32(0); }
inline Sums add(Sums sums, const int16_t* samples, const int16_t* weights) {
  const int16x8_t a = vld1q_s16(samples), w = vld1q_s16(weights);
  return vmlal_high_s16(vmlal_s16(sums, vget_low_s16(a), vget_low_s16(w)), a, w);
}
inline void store(const Sums (&sums)[kAtOnce], int16_t* out) {
  const int32x4_t four = vpaddq_s32(vpaddq_s32(sums[0], sums[1]), vpaddq_s32(sums[2], sums[3]));
  vst1_s16(out, vqrshrn_n_s32(four, kWeightBits));
}
#elif defined(__SSE2__)
typedef __m128i Sums;
inline Sums zero() { return _mm_setzero_si128(); }
inline Sums add(Sums sums, const int16_t* samples, const int16_t* weights) {
  const auto load = [](const int16_t* from) { return _mm_loadu_si128(reinterpret_cast<const __m128i_u*>(from)); };
  return _mm_add_epi32(sums, _mm_madd_epi16(load(samples), load(weights)));
}
inline void store(const Sums (&sums)[kAtOnce], int16_t* out) {
  const __m128i first = _mm_add_epi32(_mm_unpacklo_epi32(sums[0], sums[1]), _mm_unpackhi_epi32(sums[0], sums[1]));
  const __m128i second = _mm_add_epi32(_mm_unpacklo_epi32(sums[2], sums[3]), _mm_unpackhi_epi32(sums[2], sums[3]));
  __m128i four = _mm_add_epi32(_mm_unpacklo_epi64(first, second), _mm_unpackhi_epi64(first, second));
  four = _mm_srai_epi32(_mm_add_epi32(four, _mm_set1_epi32(1 << (kWeightBits - 1))), kWeightBits);
  _mm_storel_epi64(reinterpret_cast<__m128i_u*>(out), _mm_packs_epi32(four, four));
}
#else
typedef int32_t Sums;
inline Sums zero() { return 0; }
inline Sums add(Sums sums, const int16_t* samples, const int16_t* weights) {
  for (size_t i = 0; i < kVector; ++i) sums += samples[i] * weights[i];
  return sums;
}
inline void store(const Sums (&sums)[kAtOnce], int16_t* out) {
  for (int i = 0; i < kAtOnce; ++i) {
    const Sums rounded = (sums[i] + (1 << (kWeightBits - 1))) >> kWeightBits;
    out[i] = static_cast<int16_t>(std::clamp<Sums>(rounded, INT16_MIN, INT16_MAX));
  }
}
#endif

// kTaps: as many as `taps`, or 0 for any.
template <size_t kTaps>
[[gnu::always_inline]] inline void filter(const int16_t* samples, const int32_t* begins, const int16_t* weights,
                                          size_t taps, int count, int16_t* out) {
  if (kTaps > 0) taps = kTaps;
  const auto sum = [&](int i) {
    const int16_t *from = samples + begins[i], *by = weights + static_cast<size_t>(i) * taps;
    Sums sums = add(zero(), from, by);
    for (size_t k = kVector; k < taps; k += kVector) sums = add(sums, from + k, by + k);
    return sums;
  };
  int i = 0;
  for (; i + kAtOnce <= count; i += kAtOnce) store({sum(i), sum(i + 1), sum(i + 2), sum(i + 3)}, out + i);
  for (; i < count; ++i) {
    int16_t one[kAtOnce];
    store({sum(i), zero(), zero(), zero()}, one);
    out[i] = one[0];
  }
}

FERRY_KERNEL void filter(const int16_t* samples, const int32_t* begins, const int16_t* weights, size_t taps, int count,
                         int16_t* out) {
  switch (taps) {
    case 8: return filter<8>(samples, begins, weights, taps, count, out);
    case 16: return filter<16>(samples, begins, weights, taps, count, out);
    default: return filter<0>(samples, begins, weights, taps, count, out);
  }
}

}  // namespace

void fixed_weights(const int32_t* weights, int count, int16_t* out) {
  constexpr int kBelow = kPrecisionBits - kWeightBits;
  int rest = 1 << kWeightBits, largest = 0;
  for (int i = 0; i < count; ++i) {
    rest -= (weights[i] + (1 << (kBelow - 1))) >> kBelow;
    if (weights[i] > weights[largest]) largest = i;
  }
  for (int i = 0; i < count; ++i) {
    const int weight = ((weights[i] + (1 << (kBelow - 1))) >> kBelow) + (i == largest ? rest : 0);
    out[i] = static_cast<int16_t>(std::min(weight, INT16_MAX));
  }
}

void PlaneColumns::Windows::prepare(int taps_of_output, int outputs) {
  taps = (static_cast<size_t>(taps_of_output) + kVector - 1) / kVector * kVector;
  begins.resize(static_cast<size_t>(outputs));
  weights.assign(static_cast<size_t>(outputs) * taps, 0);
}

void PlaneColumns::Windows::run(const int16_t* samples, int begin, int end, int16_t* out) const {
  const auto from = static_cast<size_t>(begin);
  filter(samples, begins.data() + from, weights.data() + from * taps, taps, end - begin, out + from);
}

void PlaneColumns::prepare(const Axis& axis, int left) {
  first_ = (left + axis.first()) / 2 * 2;
  last_ = left + axis.last();
  mirrored_ = axis.side().mirrored;
  const auto taps = static_cast<int>(axis.taps());
  columns_.prepare(taps, axis.outputs());
  pairs_.prepare(taps / 2 + 1, axis.outputs());
  both_.resize(axis.taps() / 2 + 1);
  for (int x = 0; x < axis.outputs(); ++x) {
    const int begin = left + axis.begin(x) - first_, count = axis.count(x), pairs = (begin + count + 1) / 2 - begin / 2;
    std::fill(both_.begin(), both_.end(), 0);
    for (int k = 0; k < count; ++k) both_[static_cast<size_t>((begin + k) / 2 - begin / 2)] += axis.of(x)[k];
    columns_.begins[static_cast<size_t>(x)] = begin;
    pairs_.begins[static_cast<size_t>(x)] = begin / 2;
    fixed_weights(axis.of(x), count, columns_.of(x));
    fixed_weights(both_.data(), pairs, pairs_.of(x));
  }
}

void PlaneColumns::to_outputs(int* begin, int* end) const {
  const auto taps = static_cast<int>(columns_.taps);
  const auto before = [&](int32_t window) { return window + taps <= *begin; };
  const auto behind = [&](int32_t window) { return window < *end; };
  const std::vector<int32_t>& begins = columns_.begins;
  const auto index = [](auto from, auto to) { return static_cast<int>(to - from); };
  int from, to;
  if (mirrored_) {
    to = index(begins.rbegin(), std::partition_point(begins.rbegin(), begins.rend(), before));
    from = index(begins.rbegin(), std::partition_point(begins.rbegin(), begins.rend(), behind));
    from = outputs() - from, to = outputs() - to;
  } else {
    from = index(begins.begin(), std::partition_point(begins.begin(), begins.end(), before));
    to = index(begins.begin(), std::partition_point(begins.begin(), begins.end(), behind));
  }
  *begin = from, *end = to;
}

}  // namespace ferry::image
