#include "sdk/image/frame_columns.h"

#include <algorithm>

#if defined(__aarch64__)
#include <arm_neon.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "sdk/image/frame_colours.h"
#include "sdk/kernel.h"

namespace ferry::image {
namespace {

constexpr size_t kVector = 8;
constexpr int kWeightBits = 15;

size_t padded(size_t taps) { return (taps + kVector - 1) / kVector * kVector; }

int16_t fixed(int32_t weight) {
  constexpr int kBelow = kPrecisionBits - kWeightBits;
  return static_cast<int16_t>(std::min((weight + (1 << (kBelow - 1))) >> kBelow, INT16_MAX));
}

// Sums of products of 16 bits, four of them side by side, a vector of each at a time.
#if defined(__aarch64__)
typedef int32x4_t Sums;
inline Sums zero() { return vdupq_n_s32(0); }
inline Sums add(Sums sums, const int16_t* samples, const int16_t* weights) {
  const int16x8_t a = vld1q_s16(samples), w = vld1q_s16(weights);
  return vmlal_high_s16(vmlal_s16(sums, vget_low_s16(a), vget_low_s16(w)), a, w);
}
inline void store(Sums luma, Sums u, Sums v, int16_t* out) {
  const int32x4_t sums = vpaddq_s32(vpaddq_s32(luma, u), vpaddq_s32(v, v));
  vst1_s16(out, vqrshrn_n_s32(sums, kWeightBits));
}
#elif defined(__SSE2__)
typedef __m128i Sums;
inline Sums zero() { return _mm_setzero_si128(); }
inline Sums add(Sums sums, const int16_t* samples, const int16_t* weights) {
  const auto load = [](const int16_t* from) { return _mm_loadu_si128(reinterpret_cast<const __m128i_u*>(from)); };
  return _mm_add_epi32(sums, _mm_madd_epi16(load(samples), load(weights)));
}
inline void store(Sums luma, Sums u, Sums v, int16_t* out) {
  const __m128i first = _mm_add_epi32(_mm_unpacklo_epi32(luma, u), _mm_unpackhi_epi32(luma, u));
  const __m128i second = _mm_add_epi32(_mm_unpacklo_epi32(v, v), _mm_unpackhi_epi32(v, v));
  __m128i sums = _mm_add_epi32(_mm_unpacklo_epi64(first, second), _mm_unpackhi_epi64(first, second));
  sums = _mm_srai_epi32(_mm_add_epi32(sums, _mm_set1_epi32(1 << (kWeightBits - 1))), kWeightBits);
  _mm_storel_epi64(reinterpret_cast<__m128i_u*>(out), _mm_packs_epi32(sums, sums));
}
#else
typedef int32_t Sums;
inline Sums zero() { return 0; }
inline Sums add(Sums sums, const int16_t* samples, const int16_t* weights) {
  for (size_t i = 0; i < kVector; ++i) sums += samples[i] * weights[i];
  return sums;
}
inline void store(Sums luma, Sums u, Sums v, int16_t* out) {
  const Sums sums[] = {luma, u, v, 0};
  for (int i = 0; i < 4; ++i) {
    const Sums rounded = (sums[i] + (1 << (kWeightBits - 1))) >> kWeightBits;
    out[i] = static_cast<int16_t>(std::clamp<Sums>(rounded, INT16_MIN, INT16_MAX));
  }
}
#endif

FERRY_KERNEL void filter(const Block& planes, const int16_t* entry, size_t luma_taps, size_t chroma_taps, int count,
                         int16_t* out) {
  for (int i = 0; i < count; ++i, out += 4) {
    const int16_t *luma = planes.luma + entry[0], *u = planes.u + entry[1], *v = planes.v + entry[1];
    entry += 2;
    Sums luma_sums = zero(), u_sums = zero(), v_sums = zero();
    for (size_t k = 0; k < luma_taps; k += kVector, entry += kVector) luma_sums = add(luma_sums, luma + k, entry);
    for (size_t k = 0; k < chroma_taps; k += kVector, entry += kVector) {
      u_sums = add(u_sums, u + k, entry);
      v_sums = add(v_sums, v + k, entry);
    }
    store(luma_sums, u_sums, v_sums, out);
  }
}

}  // namespace

void PlaneColumns::prepare(const Axis& axis, int left) {
  groups_.clear();
  if (axis.taps() > kSegment) return;
  luma_taps_ = padded(axis.taps());
  chroma_taps_ = padded(axis.taps() / 2 + 1);
  entries_.assign(static_cast<size_t>(axis.outputs()) * entry_size(), 0);
  int16_t* entry = entries_.data();
  for (int x = 0; x < axis.outputs(); ++x, entry += entry_size()) {
    const int begin = left + axis.begin(x), end = begin + axis.count(x), even = begin / 2 * 2;
    Group* group = groups_.empty() ? nullptr : &groups_.back();
    if (!group || std::max(group->last, end) - std::min(group->first, even) > kSegment ||
        x - group->begin == Filtered::kOutputs) {
      group = &groups_.emplace_back(Group{x, x, even, end});
    }
    group->end = x + 1;
    group->first = std::min(group->first, even);
    group->last = std::max(group->last, end);
    int32_t both[kSegment / 2 + 1] = {};
    for (int k = 0; k < axis.count(x); ++k) {
      entry[2 + k] = fixed(axis.of(x)[k]);
      both[(begin + k) / 2 - begin / 2] += axis.of(x)[k];
    }
    std::transform(both, both + axis.count(x) / 2 + 1, entry + 2 + luma_taps_, fixed);
  }
  entry = entries_.data();
  const int right = left + axis.side().source;
  for (Group& group : groups_) {
    // Whole vectors, where there are so many columns.
    group.last = std::max(group.last, std::min(group.first + kSegment, right));
    group.first = std::min(group.first, std::max(left, group.last - kSegment) / 2 * 2);
    for (int x = group.begin; x < group.end; ++x, entry += entry_size()) {
      entry[0] = static_cast<int16_t>(left + axis.begin(x) - group.first);
      entry[1] = static_cast<int16_t>((left + axis.begin(x)) / 2 - group.first / 2);
    }
  }
}

void PlaneColumns::run(const Block& planes, const Group& group, Filtered* out) const {
  filter(planes, entries_.data() + static_cast<size_t>(group.begin) * entry_size(), luma_taps_, chroma_taps_,
         group.end - group.begin, out->samples);
}

}  // namespace ferry::image
