#include "sdk/image/frame_clipping.h"

#include <algorithm>
#include <cstring>
#include <utility>

#if defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "sdk/image/frame_colours.h"
#include "sdk/kernel.h"

namespace ferry::image {
namespace {

constexpr int kCell = Clipping::kCell;
constexpr int16_t kWhite = 255 << kSumBits;

// By value: compilers have vector instructions for these.
template <typename Number>
inline Number lower(Number a, Number b) {
  return a < b ? a : b;
}
template <typename Number>
inline Number higher(Number a, Number b) {
  return a > b ? a : b;
}

// The samples of a part of two rows that share a row of chroma; they are one where a frame ends.
struct Rows2 {
  const uint8_t *upper, *lower;
  const uint8_t *u, *v;
};

// What chroma adds to red, green and blue, in steps of luma with kSumBits after the point, and the luma with which a
// pixel that chroma adds nothing to is within half a level of black and of white. Chroma adds no more than luma can
// have, so nothing that is computed of it leaves 0 to 255.
struct Steps : FixedMatrix {
  int16_t darkest = 0, lightest = 0;

  explicit Steps(YuvMatrix m) {
    constexpr float kUnit = 1 << kSumBits, kUp = kUnit - 1;
    for (float* factor : {&m.red_v, &m.green_u, &m.green_v, &m.blue_u}) *factor /= m.luma;
    static_cast<FixedMatrix&>(*this) = fixed_of(m);
    darkest = static_cast<int16_t>((static_cast<float>(m.black) - 0.5f / m.luma) * kUnit + kUp);
    lightest = static_cast<int16_t>((static_cast<float>(m.black) + 255.5f / m.luma) * kUnit);
  }
  // With U and V changing places, and red and blue: limits are the same.
  void exchange() { std::swap(red_v, blue_u), std::swap(green_u, green_v); }
};

// Do any of a cell's `count` columns clip? kPairs: chroma alternates from `u` on, two samples are a number of 16 bits.
template <bool kPairs>
[[gnu::always_inline]] inline uint8_t clips(const Rows2& rows, const Steps& m, int count) {
  uint8_t lowest[kCell], highest[kCell];  // the luma with which a pixel does not
  typedef uint16_t Both __attribute__((aligned(1), may_alias));
  const Both* pairs = reinterpret_cast<const Both*>(rows.u);
  Both *least = reinterpret_cast<Both*>(lowest), *most = reinterpret_cast<Both*>(highest);
  FERRY_INDEPENDENT
  for (int i = 0; i < (count + 1) / 2; ++i) {
    constexpr int kZero = kGray << kChromaShift;
    const auto u = static_cast<int16_t>(((kPairs ? pairs[i] : rows.u[i]) << kChromaShift) - kZero);
    const auto v = static_cast<int16_t>((kPairs ? pairs[i] & 0xff00 : rows.v[i] << kChromaShift) - kZero);
    const int16_t red = times(v, m.red_v), blue = times(u, m.blue_u);
    const auto green = static_cast<int16_t>(times(u, m.green_u) + times(v, m.green_v));
    const auto low = static_cast<int16_t>(m.darkest - lower(lower(red, green), blue));
    const auto high = static_cast<int16_t>(m.lightest - higher(higher(red, green), blue));
    const auto a = static_cast<uint16_t>(low >> kSumBits), b = static_cast<uint16_t>(high >> kSumBits);
    least[i] = static_cast<uint16_t>(a | a << 8);
    most[i] = static_cast<uint16_t>(b | b << 8);
  }
  uint8_t found[kCell] = {};
  for (int i = 0; i < count; ++i) {
    const uint8_t a = rows.upper[i], b = rows.lower[i], low = lowest[i], high = highest[i];
    found[i] = static_cast<uint8_t>((lower(lower(a, b), low) ^ low) | (higher(higher(a, b), high) ^ high));
  }
  uint64_t parts[kCell / sizeof(uint64_t)], any = 0;  // takes fewer instructions than byte by byte
  std::memcpy(parts, found, sizeof(parts));
  for (const uint64_t part : parts) any |= part;
  return any != 0;
}

#if defined(__aarch64__)
// The luma with which pixels do not clip, of 8 pairs: bytes of chroma above kGray.
struct Limits {
  uint8x8_t lowest, highest;
};
[[gnu::always_inline]] inline Limits limits_of(int8x8_t u_bytes, int8x8_t v_bytes, const Steps& m) {
  constexpr int kShift = kChromaShift - 1;  // products are doubled
  const int16x8_t u = vshll_n_s8(u_bytes, kShift), v = vshll_n_s8(v_bytes, kShift);
  const int16x8_t red = vqdmulhq_n_s16(v, m.red_v), blue = vqdmulhq_n_s16(u, m.blue_u);
  const int16x8_t green = vaddq_s16(vqdmulhq_n_s16(u, m.green_u), vqdmulhq_n_s16(v, m.green_v));
  const int16x8_t low = vminq_s16(vminq_s16(red, green), blue), high = vmaxq_s16(vmaxq_s16(red, green), blue);
  return {vqshrun_n_s16(vsubq_s16(vdupq_n_s16(m.darkest), low), kSumBits),
          vqshrun_n_s16(vsubq_s16(vdupq_n_s16(m.lightest), high), kSumBits)};
}

template <bool kPairs>
[[gnu::always_inline]] inline uint8_t clips(const Rows2& rows, const Steps& m) {
  static_assert(kCell == 32, "a vector's pairs");
  uint8x16_t u, v;
  if (kPairs) {
    const uint8x16x2_t both = vld2q_u8(rows.u);
    u = both.val[0], v = both.val[1];
  } else {
    u = vld1q_u8(rows.u), v = vld1q_u8(rows.v);
  }
  const uint8x16_t gray = vdupq_n_u8(kGray);
  const int8x16_t us = vreinterpretq_s8_u8(veorq_u8(u, gray)), vs = vreinterpretq_s8_u8(veorq_u8(v, gray));
  const Limits first = limits_of(vget_low_s8(us), vget_low_s8(vs), m);
  const Limits second = limits_of(vget_high_s8(us), vget_high_s8(vs), m);
  const uint8x16_t lowest = vcombine_u8(first.lowest, second.lowest);
  const uint8x16_t highest = vcombine_u8(first.highest, second.highest);
  const auto beyond = [&](int at, uint8x16_t low, uint8x16_t high) {
    const uint8x16_t a = vld1q_u8(rows.upper + at), b = vld1q_u8(rows.lower + at);
    return vorrq_u8(vcltq_u8(vminq_u8(a, b), low), vcgtq_u8(vmaxq_u8(a, b), high));
  };
  const uint8x16_t left = beyond(0, vzip1q_u8(lowest, lowest), vzip1q_u8(highest, highest));
  const uint8x16_t right = beyond(16, vzip2q_u8(lowest, lowest), vzip2q_u8(highest, highest));
  return vmaxvq_u8(vorrq_u8(left, right)) & 1;
}
#else
template <bool kPairs>
[[gnu::always_inline]] inline uint8_t clips(const Rows2& rows, const Steps& m) {
  return clips<kPairs>(rows, m, kCell);
}
#endif

template <bool kPairs>
[[gnu::always_inline]] inline void find(Rows2 rows, const Steps& m, int count, uint8_t* cells) {
  constexpr int kChroma = kPairs ? kCell : kCell / 2;
  for (; count > 0; count -= kCell, rows.upper += kCell, rows.lower += kCell, rows.u += kChroma, rows.v += kChroma)
    *cells++ = count >= kCell ? clips<kPairs>(rows, m) : clips<kPairs>(rows, m, count);
}

// Of `count` columns, whose chroma alternates from `u` on or does not.
FERRY_KERNEL void find_cells(const Rows2& rows, bool pairs, const Steps& steps, int count, uint8_t* cells) {
  const Steps m = steps;
  pairs ? find<true>(rows, m, count, cells) : find<false>(rows, m, count, cells);
}

// What chroma adds to the colours of a cell's pixels.
struct Added {
  int16_t colours[3][kCell];
};

FERRY_KERNEL void add_chroma(const uint8_t* u_samples, const uint8_t* v_samples, const FixedMatrix& matrix,
                             Added* added) {
  const FixedMatrix m = matrix;
  auto& [red, green, blue] = added->colours;
  FERRY_INDEPENDENT
  for (int i = 0; i < kCell / 2; ++i) {
    const auto u = static_cast<int16_t>((u_samples[i] - kGray) * (1 << kChromaShift));
    const auto v = static_cast<int16_t>((v_samples[i] - kGray) * (1 << kChromaShift));
    red[2 * i] = red[2 * i + 1] = times(v, m.red_v);
    green[2 * i] = green[2 * i + 1] = static_cast<int16_t>(times(u, m.green_u) + times(v, m.green_v));
    blue[2 * i] = blue[2 * i + 1] = times(u, m.blue_u);
  }
}

FERRY_KERNEL void add_excess(const uint8_t* luma_samples, const FixedMatrix& matrix, const Added& added, int16_t weight,
                             Clipping::Excess* excess) {
  int16_t luma[kCell];
  for (int i = 0; i < kCell; ++i) {
    luma[i] = times(static_cast<int16_t>((luma_samples[i] - matrix.black) * (1 << kLumaShift)), matrix.luma);
  }
  for (int c = 0; c < 3; ++c) {
    const int16_t* colour = added.colours[c];
    int32_t* sums = excess->colours[c];
    FERRY_INDEPENDENT
    for (int i = 0; i < kCell; ++i) {
      const auto level = static_cast<int16_t>(luma[i] + colour[i]);
      const auto beyond = static_cast<int16_t>(level - lower(higher<int16_t>(level, 0), kWhite));
      sums[i] += beyond * weight;
    }
  }
}

// `count` samples `step` bytes apart, side by side: where they lie, if they do so and are `enough`, or in `room`.
FERRY_KERNEL const uint8_t* side_by_side(const uint8_t* samples, int step, int count, int enough, uint8_t* room) {
  if (step == 1 && count >= enough) return samples;
  if (step == 2) {
    FERRY_INDEPENDENT
    for (int i = 0; i < count; ++i) room[i] = samples[2 * i];
  } else {
    for (int i = 0; i < count; ++i) room[i] = samples[i * step];
  }
  return room;
}

}  // namespace

void Clipping::begin(const Frame& frame, int begin, int end) {
  begin_ = begin;
  end_ = end;
  top_ = frame.half_rows ? frame.top / 2 : frame.top;
  const int bottom = frame.top + frame.height, rows = (frame.half_rows ? (bottom + 1) / 2 : bottom) - top_;
  found_.assign(static_cast<size_t>(rows) * static_cast<size_t>(1 + cells()), kUnknown);
}

const uint8_t* Clipping::row(const Frame& frame, int chroma_y) {
  uint8_t* state = found_.data() + static_cast<size_t>(chroma_y - top_) * static_cast<size_t>(1 + cells());
  uint8_t* clips = state + 1;
  if (*state == kUnknown) {
    find(frame, chroma_y, clips);
    *state = std::find(clips, clips + cells(), 1) < clips + cells() ? kSome : kNone;
  }
  return *state == kSome ? clips : nullptr;
}

void Clipping::find(const Frame& frame, int chroma_y, uint8_t* cells) const {
  const int shift = frame.half_rows ? 1 : 0;
  const int first = std::max(chroma_y << shift, frame.top);
  const int last = std::min((chroma_y + 1) << shift, frame.top + frame.height) - 1;
  Steps steps(frame.matrix);
  uint8_t luma[2][kBlock], chroma[2][kBlock / 2];
  for (int x = begin_; x < end_; x += kBlock, cells += kBlock / kCell) {
    const int count = std::min(kBlock, end_ - x), half = (count + 1) / 2;
    const auto beside = [&](int plane, int column, int row, int samples, uint8_t* room) {
      return side_by_side(samples_at(frame, plane, column, row), frame.planes[plane].pixel, samples, 0, room);
    };
    Rows2 rows = {beside(0, x, first, count, luma[0]), beside(0, x, last, count, luma[1]),
                  samples_at(frame, 1, x / 2, chroma_y), samples_at(frame, 2, x / 2, chroma_y)};
    const bool pairs = in_pairs(frame, rows.u, rows.v);
    if (!pairs) {
      rows.u = beside(1, x / 2, chroma_y, half, chroma[0]);
      rows.v = beside(2, x / 2, chroma_y, half, chroma[1]);
    } else if (rows.v < rows.u) {
      std::swap(rows.u, rows.v);
      if (x == begin_) steps.exchange();
    }
    find_cells(rows, pairs, steps, count, cells);
  }
}

void Clipping::add(const Frame& frame, int cell, int begin, int end, const int16_t* weights, Excess* excess) const {
  const int x = begin_ + cell * kCell, count = std::min(kCell, end_ - x);
  const int chroma_y = frame.half_rows ? begin / 2 : begin;
  uint8_t luma[kCell] = {}, chroma[2][kCell / 2] = {};
  const uint8_t* planes[2];
  for (int i = 0; i < 2; ++i) {
    planes[i] = side_by_side(samples_at(frame, 1 + i, x / 2, chroma_y), frame.planes[1 + i].pixel, (count + 1) / 2,
                             kCell / 2, chroma[i]);
  }
  Added added;
  add_chroma(planes[0], planes[1], frame.fixed_matrix, &added);
  for (int y = begin; y < end; ++y) {
    const uint8_t* row = side_by_side(samples_at(frame, 0, x, y), frame.planes[0].pixel, count, kCell, luma);
    add_excess(row, frame.fixed_matrix, added, weights[y - begin], excess);
  }
}

}  // namespace ferry::image
