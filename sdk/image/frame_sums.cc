// Weighted sums of a frame's rows. Colours are linear in luma and chroma, but where they clip: so rows are added up as
// planes, whose columns are filtered, and what comes out is turned into RGB; by how much colours clip is added up beside
// it, where they do.
#include "sdk/image/frame.h"

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

// More would overflow sums of 16 bits, and their rounding be seen.
constexpr int kMaxRows = 128;
// Samples side by side that are added up at a time, where their sums stay in registers.
constexpr int kBytes = 32;

// add_rows() adds up rows `stride` bytes apart, whose samples are `step` bytes apart, to levels with kLevelBits after the
// point. Products are cut off, by half a bit on average, or rounded.
#if defined(__aarch64__)
// Sums of 32 columns.
struct Sums {
  int16x8_t a = vdupq_n_s16(0), b = a, c = a, d = a;

  // A row, weighted by that of four weights.
  template <int kWeight>
  [[gnu::always_inline]] void add(const uint8_t* row, int16x4_t weights) {
    const uint8x16_t left = vld1q_u8(row), right = vld1q_u8(row + 16);
    const auto sum = [weights](int16x8_t so_far, uint16x8_t samples) {
      return vqaddq_s16(so_far, vqrdmulhq_lane_s16(vreinterpretq_s16_u16(samples), weights, kWeight));
    };
    a = sum(a, vshll_n_u8(vget_low_u8(left), kLevelBits));
    b = sum(b, vshll_high_n_u8(left, kLevelBits));
    c = sum(c, vshll_n_u8(vget_low_u8(right), kLevelBits));
    d = sum(d, vshll_high_n_u8(right, kLevelBits));
  }
};

[[gnu::noinline]] FERRY_KERNEL void add_rows(const uint8_t* from, int64_t stride, int step, const int16_t* weights,
                                             int rows, int count, int16_t* sums) {
  if (step != 1 || count < kBytes) {
    for (int i = 0; i < count; ++i, from += step) {
      int sum = 0;
      for (int k = 0; k < rows; ++k) sum += from[k * stride] * weights[k];
      sums[i] = static_cast<int16_t>(sum >> (kWeightBits - kLevelBits));
    }
    return;
  }
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
// Rows that are added at once, so that sums are read and written once for all of them.
constexpr int kAtOnce = 4;

template <typename At>
[[gnu::always_inline]] inline void add(const uint8_t* from, int64_t stride, const int16_t* weights, int rows, int count,
                                       int16_t* sums, const At& at) {
  std::fill(sums, sums + count, static_cast<int16_t>(rows / 2));
  for (int k = 0; k < rows; k += kAtOnce, from += kAtOnce * stride) {
    const uint8_t* row[kAtOnce];
    uint16_t weight[kAtOnce];
    for (int j = 0; j < kAtOnce; ++j) {
      row[j] = k + j < rows ? from + j * stride : from;
      weight[j] = static_cast<uint16_t>(k + j < rows ? weights[k + j] : 0);
    }
    FERRY_INDEPENDENT
    for (int i = 0; i < count; ++i) {
      const auto part = [&](int j) {
        const auto sample = static_cast<uint16_t>(row[j][at(i)] << 8);
        return static_cast<uint16_t>(static_cast<uint32_t>(sample) * weight[j] >> 16);
      };
      sums[i] = static_cast<int16_t>(sums[i] + part(0) + part(1) + part(2) + part(3));
    }
  }
}

#if defined(__x86_64__)
// Twice as fast as what gcc makes of the loop above: bytes in the upper halves of 16 bits take one instruction.
[[gnu::target("avx2")]] void add_rows_avx2(const uint8_t* from, int64_t stride, const int16_t* weights, int rows,
                                           int count, int16_t* sums) {
  const __m256i zero = _mm256_setzero_si256(), half = _mm256_set1_epi16(static_cast<int16_t>(rows / 2));
  for (int next = 0; next < count; next += kBytes) {
    const int i = std::min(next, count - kBytes);
    const uint8_t* row = from + i;
    __m256i low = half, high = half;  // of each half of a vector
    for (int k = 0; k < rows; ++k, row += stride) {
      const __m256i samples = _mm256_loadu_si256(reinterpret_cast<const __m256i_u*>(row));
      const __m256i weight = _mm256_set1_epi16(weights[k]);
      low = _mm256_add_epi16(low, _mm256_mulhi_epu16(_mm256_unpacklo_epi8(zero, samples), weight));
      high = _mm256_add_epi16(high, _mm256_mulhi_epu16(_mm256_unpackhi_epi8(zero, samples), weight));
    }
    __m256i_u* to = reinterpret_cast<__m256i_u*>(sums + i);
    _mm256_storeu_si256(to, _mm256_permute2x128_si256(low, high, 0x20));
    _mm256_storeu_si256(to + 1, _mm256_permute2x128_si256(low, high, 0x31));
  }
}
#endif

[[gnu::noinline]] FERRY_KERNEL void add_rows(const uint8_t* from, int64_t stride, int step, const int16_t* weights,
                                             int rows, int count, int16_t* sums) {
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

// Sums of chroma in pairs.
FERRY_KERNEL void separate(const int16_t* both, int pairs, int16_t* first, int16_t* second) {
  FERRY_INDEPENDENT
  for (int i = 0; i < pairs; ++i) first[i] = both[2 * i], second[i] = both[2 * i + 1];
}

FERRY_KERNEL void to_samples(const int32_t* sums, int count, int16_t* out) {
  FERRY_INDEPENDENT
  for (int i = 0; i < count; ++i) out[i] = static_cast<int16_t>((sums[i] + (1 << (kWeightBits - 1))) >> kWeightBits);
}

}  // namespace

void FrameRows::prepare(const Frame& frame, const ColumnPass& columns) {
  planes_.prepare(columns.axis(), frame.left);
  for (auto& sums : sums_) sums.resize(static_cast<size_t>(planes_.last() - planes_.first() + planes_.spare()));
  constexpr int kLeast = 8;  // of a line's samples, that may be read
  for (auto& filtered : filtered_) filtered.resize(static_cast<size_t>(std::max(planes_.outputs(), kLeast)));
}

void FrameRows::begin(const Frame& frame, int channels) {
  frame_ = frame;
  channels_ = channels;
  if (frame.samples != Frame::Samples::Yuv) return;
  clipping_.begin(frame, planes_.first(), planes_.last());
  clips_.resize(static_cast<size_t>(clipping_.cells()));
}

struct FrameRows::Weights {
  int16_t luma[kMaxRows], chroma[kMaxRows];
  int y = 0, rows = 0;  // in the frame
  int chroma_y = 0, chroma_rows = 0;
};

bool FrameRows::sum(int y, int rows, const int32_t* weights, uint8_t* line) {
  if (frame_.samples != Frame::Samples::Yuv || frame_.wide || channels_ != 4 || rows > kMaxRows) return false;
  Weights w;
  w.y = frame_.top + y;
  w.rows = rows;
  const int shift = frame_.half_rows ? 1 : 0;
  w.chroma_y = w.y >> shift;
  w.chroma_rows = ((w.y + rows - 1) >> shift) - w.chroma_y + 1;
  int32_t both[kMaxRows] = {};
  for (int k = 0; k < rows; ++k) both[((w.y + k) >> shift) - w.chroma_y] += weights[k];
  fixed_weights(weights, rows, w.luma);
  fixed_weights(both, w.chroma_rows, w.chroma);
  sum_planes(w);
  const auto& [luma, u, v, red, green, blue] = filtered_;
  Filtered filtered = {luma.data(), u.data(), v.data(), {}};
  if (sum_excess(w)) filtered = {luma.data(), u.data(), v.data(), {red.data(), green.data(), blue.data()}};
  write_filtered(filtered, frame_.fixed_matrix, planes_.outputs(), line);
  return true;
}

void FrameRows::sum_planes(const Weights& w) {
  const int x = planes_.first(), count = planes_.last() - x, pairs = (count + 1) / 2, outputs = planes_.outputs();
  const Plane *luma = &frame_.planes[0], *u = &frame_.planes[1], *v = &frame_.planes[2];
  int16_t *first = sums_[0].data(), *second = sums_[1].data(), *both = sums_[2].data();
  add_rows(samples_at(frame_, 0, x, w.y), luma->row, luma->pixel, w.luma, w.rows, count, both);
  planes_.each(both, 0, outputs, filtered_[0].data());
  const uint8_t *from_u = samples_at(frame_, 1, x / 2, w.chroma_y), *from_v = samples_at(frame_, 2, x / 2, w.chroma_y);
  if (in_pairs(frame_, from_u, from_v)) {  // one sum of both
    add_rows(std::min(from_u, from_v), u->row, 1, w.chroma, w.chroma_rows, 2 * pairs, both);
    separate(both, pairs, first, second);
    if (from_v < from_u) std::swap(first, second);
  } else {
    add_rows(from_u, u->row, u->pixel, w.chroma, w.chroma_rows, pairs, first);
    add_rows(from_v, v->row, v->pixel, w.chroma, w.chroma_rows, pairs, second);
  }
  planes_.pairs(first, 0, outputs, filtered_[1].data());
  planes_.pairs(second, 0, outputs, filtered_[2].data());
}

// Where cells clip, and zero elsewhere.
bool FrameRows::sum_excess(const Weights& w) {
  constexpr int kCell = Clipping::kCell;
  const uint8_t* found[kMaxRows];
  bool some = false;
  std::fill(clips_.begin(), clips_.end(), 0);
  for (int k = 0; k < w.chroma_rows; ++k) {
    found[k] = clipping_.row(frame_, w.chroma_y + k);
    for (size_t cell = 0; cell < clips_.size() && found[k]; ++cell) clips_[cell] |= found[k][cell];
    some |= found[k] != nullptr;
  }
  if (!some) return false;
  for (auto& sums : sums_) std::fill(sums.begin(), sums.end(), 0);
  for (size_t c = 3; c < 6; ++c) std::fill(filtered_[c].begin(), filtered_[c].end(), 0);
  const int shift = frame_.half_rows ? 1 : 0, columns = planes_.last() - planes_.first(), cells = clipping_.cells();
  for (int first = 0, cell = 0; cell < cells; ++cell) {
    if (!clips_[static_cast<size_t>(cell)]) {
      first = cell + 1;
      continue;
    }
    Clipping::Excess excess = {};
    for (int k = 0; k < w.chroma_rows; ++k) {
      if (!found[k] || !found[k][cell]) continue;
      const int begin = std::max((w.chroma_y + k) << shift, w.y);
      const int end = std::min((w.chroma_y + k + 1) << shift, w.y + w.rows);
      clipping_.add(frame_, cell, begin, end, w.luma + begin - w.y, &excess);
    }
    for (size_t c = 0; c < 3; ++c)
      to_samples(excess.colours[c], std::min(kCell, columns - cell * kCell), sums_[c].data() + cell * kCell);
    if (cell + 1 < cells && clips_[static_cast<size_t>(cell + 1)]) continue;
    int begin = first * kCell, end = (cell + 1) * kCell;
    planes_.to_outputs(&begin, &end);
    for (size_t c = 0; c < 3; ++c) planes_.each(sums_[c].data(), begin, end, filtered_[3 + c].data());
  }
  return true;
}

}  // namespace ferry::image
