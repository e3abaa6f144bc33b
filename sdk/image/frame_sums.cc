// Weighted sums of a frame's rows. Colours are linear in luma and chroma, but where they clip: so rows are added up as
// planes, whose columns are filtered, and what comes out is turned into RGB; by how much colours clip is added up
// beside it, where they do.
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
// Samples that are read and written of each line, if it has fewer.
constexpr int kLeast = 8;
// Samples side by side that are added up at a time, where their sums stay in registers.
constexpr int kBytes = 32;

// add_rows() adds up rows `stride` bytes apart, whose samples are `step` bytes apart, to levels above kGray with
// kLevelBits after the point. Products are cut off, by half a bit on average, or rounded.
#if defined(__aarch64__)
// Sums of 32 columns.
struct Sums {
  int16x8_t a = vdupq_n_s16(-kGray * (1 << kLevelBits)), b = a, c = a, d = a;

  // A row, weighted by that of four weights.
  template <int kWeight>
  [[gnu::always_inline]] void add(const uint8_t* row, int16x4_t weights) {
    const uint8x16_t left = vld1q_u8(row), right = vld1q_u8(row + 16);
    // What is more than 16 bits comes back when kGray is subtracted.
    const auto sum = [weights](int16x8_t so_far, uint16x8_t samples) {
      return vaddq_s16(so_far, vqrdmulhq_lane_s16(vreinterpretq_s16_u16(samples), weights, kWeight));
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
      for (int k = 0; k < rows; ++k) sum += (from[k * stride] - kGray) * weights[k];
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
// Twice as fast as what gcc makes of the loop above: bytes in the upper halves of 16 bits take one instruction.
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

// A sample for each column of one for each two.
FERRY_KERNEL void spread(const int16_t* chroma, int count, int16_t* out) {
  FERRY_INDEPENDENT
  for (int i = 0; i < count / 2; ++i) out[2 * i] = out[2 * i + 1] = chroma[i];
  if (count % 2 != 0) out[count - 1] = chroma[count / 2];
}

FERRY_KERNEL void to_samples(const int32_t* sums, int count, int16_t* out) {
  FERRY_INDEPENDENT
  for (int i = 0; i < count; ++i) out[i] = static_cast<int16_t>((sums[i] + (1 << (kWeightBits - 1))) >> kWeightBits);
}

// Weighted sums of lines.
FERRY_KERNEL void add_lines(const int16_t* const* lines, const int16_t* weights, int rows, int count, int16_t* out) {
#if defined(__aarch64__)
  for (int next = 0; next < count; next += 8) {
    const int i = std::max(std::min(next, count - 8), 0);
    int16x8_t sum = vdupq_n_s16(0);
    for (int k = 0; k < rows; ++k) sum = vqaddq_s16(sum, vqrdmulhq_n_s16(vld1q_s16(lines[k] + i), weights[k]));
    vst1q_s16(out + i, sum);
  }
#else
  constexpr int kBlock = 64;  // whose sums stay in registers
  for (int begin = 0; begin < count; begin += kBlock) {
    const int n = std::min(kBlock, count - begin);
    int16_t sums[kBlock] = {};
    for (int k = 0; k < rows; ++k) {
      const int16_t *line = lines[k] + begin, weight = weights[k];
      for (int i = 0; i < n; ++i) sums[i] = static_cast<int16_t>(sums[i] + times(line[i], weight));
    }
    // Products are cut off, by half a bit on average; they have a bit less.
    for (int i = 0; i < n; ++i) out[begin + i] = static_cast<int16_t>((sums[i] + rows / 2) * 2);
  }
#endif
}

}  // namespace

void FrameRows::prepare(const Frame& frame, const Resizer& resizer, bool sums) {
  sums_near_ = sums;
  if (!sums) return;
  order_ = resizer.order();
  planes_.prepare(resizer.columns(), frame.left);
  const int width = planes_.last() - planes_.first(), outputs = planes_.outputs();
  const auto resize = [](Line& line, int count) { line.resize(static_cast<size_t>(std::max(count, kLeast))); };
  for (Line& line : sums_) resize(line, width + planes_.spare());
  for (Line& line : outputs_) resize(line, std::max(width + 1, outputs));
  for (Line& line : colours_) resize(line, std::max(width + planes_.spare(), outputs));
  kept_.resize(order_ == Resizer::Order::ColumnsFirst ? resizer.rows().taps() : 0);
  for (Line& line : kept_) resize(line, 3 * std::max(outputs, kLeast));
}

void FrameRows::begin(const Frame& frame, int channels) {
  frame_ = frame;
  channels_ = channels;
  adds_planes_ = sums_near_ && frame.samples == Frame::Samples::Yuv && !frame.wide && channels == 4;
  if (!adds_planes_) return;
  clipping_.begin(frame, planes_.first(), planes_.last());
  clips_.resize(static_cast<size_t>(clipping_.cells()));
  next_ = 0;
}

// Of rows in the frame.
struct FrameRows::Weights {
  int16_t luma[kMaxRows], chroma[kMaxRows];
  int y, rows;
  int chroma_y, chroma_rows;

  Weights(const Frame& frame, int first, int count, const int32_t* weights) : y(frame.top + first), rows(count) {
    const int shift = frame.half_rows ? 1 : 0;
    chroma_y = y >> shift;
    chroma_rows = ((y + rows - 1) >> shift) - chroma_y + 1;
    int32_t both[kMaxRows] = {};
    for (int k = 0; k < rows; ++k) both[((y + k) >> shift) - chroma_y] += weights[k];
    fixed_weights(weights, rows, luma);
    fixed_weights(both, chroma_rows, chroma);
  }
};

bool FrameRows::sum(int y, int rows, const int32_t* weights, uint8_t* line) {
  if (!adds_planes_ || rows > kMaxRows) return false;
  const int outputs = planes_.outputs();
  int16_t* colours[] = {colours_[0].data(), colours_[1].data(), colours_[2].data()};
  switch (order_) {
    case Resizer::Order::ColumnsFirst: {
      int16_t of_rows[kMaxRows];
      fixed_weights(weights, rows, of_rows);
      sum_colours(y, rows, of_rows);
      break;
    }
    case Resizer::Order::RowsFirst: {
      const Weights w(frame_, y, rows, weights);
      sum_planes(w);
      to_colours(sum_excess(w), colours);
      for (int c = 0; c < 3; ++c) {
        planes_.each(colours[c], 0, outputs, outputs_[c].data());
        colours[c] = outputs_[c].data();
      }
      break;
    }
    case Resizer::Order::SumsFirst: {
      const Weights w(frame_, y, rows, weights);
      sum_planes(w);
      to_colours(sum_excess(w), colours);
      break;
    }
  }
  write_rounded(colours, outputs, line);
  return true;
}

// Of rows whose columns come first; windows of rows overlap, and each row is gone through once.
void FrameRows::sum_colours(int y, int rows, const int16_t* weights) {
  constexpr int32_t kOne = 1 << kPrecisionBits;
  const size_t room = kept_[0].size() / 3, slots = kept_.size();
  const auto line = [&](int at, int c) {
    return kept_[static_cast<size_t>(at) % slots].data() + static_cast<size_t>(c) * room;
  };
  for (next_ = std::max(next_, y); next_ < y + rows; ++next_) {
    const Weights w(frame_, next_, 1, &kOne);
    int16_t* colours[] = {line(next_, 0), line(next_, 1), line(next_, 2)};
    sum_planes(w);
    to_colours(sum_excess(w), colours);
  }
  const int16_t* lines[kMaxRows];
  for (int c = 0; c < 3; ++c) {
    for (int k = 0; k < rows; ++k) lines[k] = line(y + k, c);
    add_lines(lines, weights, rows, planes_.outputs(), colours_[c].data());
  }
}

// From what is summed.
void FrameRows::to_colours(bool clips, int16_t* const* colours) {
  const int width = planes_.last() - planes_.first(), outputs = planes_.outputs();
  const bool filtered = order_ != Resizer::Order::RowsFirst;
  if (filtered) {
    planes_.each(sums_[0].data(), 0, outputs, outputs_[0].data());
    for (const int plane : {1, 2}) planes_.pairs(sums_[plane].data(), 0, outputs, outputs_[plane].data());
  } else {
    for (const int plane : {1, 2}) spread(sums_[plane].data(), width, outputs_[plane].data());
  }
  const Line* lines = filtered ? outputs_ : sums_;
  Summed summed = {lines[0].data(), outputs_[1].data(), outputs_[2].data(), {}};
  for (int c = 0; c < 3 && clips; ++c) summed.excess[c] = lines[3 + c].data();
  image::to_colours(summed, frame_.fixed_matrix, filtered ? outputs : width, colours);
}

void FrameRows::sum_planes(const Weights& w) {
  const int x = planes_.first(), count = planes_.last() - x, pairs = (count + 1) / 2;
  const Plane *luma = &frame_.planes[0], *u = &frame_.planes[1], *v = &frame_.planes[2];
  add_rows(samples_at(frame_, 0, x, w.y), luma->row, luma->pixel, w.luma, w.rows, count, sums_[0].data());
  const uint8_t *from_u = samples_at(frame_, 1, x / 2, w.chroma_y), *from_v = samples_at(frame_, 2, x / 2, w.chroma_y);
  int16_t *to_u = sums_[1].data(), *to_v = sums_[2].data();
  if (in_pairs(frame_, from_u, from_v)) {  // one sum of both
    int16_t* both = outputs_[0].data();
    add_rows(std::min(from_u, from_v), u->row, 1, w.chroma, w.chroma_rows, 2 * pairs, both);
    from_u < from_v ? separate(both, pairs, to_u, to_v) : separate(both, pairs, to_v, to_u);
  } else {
    add_rows(from_u, u->row, u->pixel, w.chroma, w.chroma_rows, pairs, to_u);
    add_rows(from_v, v->row, v->pixel, w.chroma, w.chroma_rows, pairs, to_v);
  }
}

// Where cells clip, and zero elsewhere.
bool FrameRows::sum_excess(const Weights& w) {
  const bool filtered = order_ != Resizer::Order::RowsFirst;
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
  for (int c = 3; c < 6; ++c) {
    std::fill(sums_[c].begin(), sums_[c].end(), 0);
    if (filtered) std::fill(outputs_[c].begin(), outputs_[c].end(), 0);
  }
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
    for (int c = 0; c < 3; ++c)
      to_samples(excess.colours[c], std::min(kCell, columns - cell * kCell), sums_[3 + c].data() + cell * kCell);
    if (!filtered || (cell + 1 < cells && clips_[static_cast<size_t>(cell + 1)])) continue;
    int begin = first * kCell, end = (cell + 1) * kCell;
    planes_.to_outputs(&begin, &end);
    for (int c = 3; c < 6; ++c) planes_.each(sums_[c].data(), begin, end, outputs_[c].data());
  }
  return true;
}

}  // namespace ferry::image
