// Weighted sums of a frame's rows. Colours are linear in luma and chroma, but where they clip: so rows are added up as
// planes, whose columns are filtered, and what comes out is turned into RGB; where a row of a group of columns clips,
// that group's rows are turned into RGB before they are added.
#include "sdk/image/frame.h"

#include <algorithm>
#include <utility>

#if defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "sdk/image/frame_colours.h"
#include "sdk/kernel.h"

namespace ferry::image {
namespace {

// More would overflow sums of 16 bits, and their rounding be seen.
constexpr int kMaxRows = 128;
// Bytes of a group's row in colours.
constexpr int kRow = 4 * PlaneColumns::kRoom;
static_assert(kRow % 8 == 0, "to_bytes()");

enum Clipping : uint8_t { kUnknown, kNone, kSome };

// add_rows() adds rows `stride` bytes apart, whose samples are `step` bytes apart, to sums with 8 bits below the level;
// weights have 16. Products are cut off, by half a bit on average, or rounded.
#if defined(__aarch64__)
inline int16x8_t add(int16x8_t sum, uint16x8_t sample, int16_t weight) {
  return vqaddq_s16(sum, vqrdmulhq_n_s16(vreinterpretq_s16_u16(sample), weight));
}

[[gnu::noinline]] FERRY_KERNEL void add_rows(const uint8_t* from, int64_t stride, int step, const uint16_t* weights,
                                             int rows, int count, uint16_t* sums) {
  constexpr int kBytes = 32;  // side by side, at a time: their sums stay in registers
  if (step != 1 || count < kBytes) {
    for (int i = 0; i < count; ++i, from += step) {
      unsigned sum = 0;
      for (int k = 0; k < rows; ++k) sum += from[k * stride] * unsigned{weights[k]};
      sums[i] = static_cast<uint16_t>(std::min(sum >> 8, 0xffffu));
    }
    return;
  }
  for (int next = 0; next < count; next += kBytes) {
    const int i = std::min(next, count - kBytes);
    int16x8_t a = vdupq_n_s16(0), b = a, c = a, d = a;
    const uint8_t* row = from + i;
    for (int k = 0; k < rows; ++k, row += stride) {
      const auto weight = static_cast<int16_t>(weights[k] >> 1);
      const uint8x16_t left = vld1q_u8(row), right = vld1q_u8(row + 16);
      a = add(a, vshll_n_u8(vget_low_u8(left), 7), weight);
      b = add(b, vshll_high_n_u8(left, 7), weight);
      c = add(c, vshll_n_u8(vget_low_u8(right), 7), weight);
      d = add(d, vshll_high_n_u8(right, 7), weight);
    }
    const auto put = [](int16x8_t sum, uint16_t* to) { vst1q_u16(to, vreinterpretq_u16_s16(vshlq_n_s16(sum, 1))); };
    put(a, sums + i), put(b, sums + i + 8), put(c, sums + i + 16), put(d, sums + i + 24);
  }
}
#else
// Rows that are added at once, so that sums are read and written once for all of them.
constexpr int kAtOnce = 4;

template <typename At>
[[gnu::always_inline]] inline void add(const uint8_t* from, int64_t stride, const uint16_t* weights, int rows,
                                       int count, uint16_t* sums, const At& at) {
  std::fill(sums, sums + count, static_cast<uint16_t>(rows / 2));
  for (int k = 0; k < rows; k += kAtOnce, from += kAtOnce * stride) {
    const uint8_t* row[kAtOnce];
    uint16_t weight[kAtOnce];
    for (int j = 0; j < kAtOnce; ++j) {
      row[j] = k + j < rows ? from + j * stride : from;
      weight[j] = k + j < rows ? weights[k + j] : 0;
    }
    FERRY_INDEPENDENT
    for (int i = 0; i < count; ++i) {
      const auto part = [&](int j) {
        const auto sample = static_cast<uint16_t>(row[j][at(i)] << 8);
        return static_cast<uint16_t>(static_cast<uint32_t>(sample) * weight[j] >> 16);
      };
      sums[i] = static_cast<uint16_t>(sums[i] + part(0) + part(1) + part(2) + part(3));
    }
  }
}

[[gnu::noinline]] FERRY_KERNEL void add_rows(const uint8_t* from, int64_t stride, int step, const uint16_t* weights,
                                             int rows, int count, uint16_t* sums) {
  if (step == 1) {
    add(from, stride, weights, rows, count, sums, [](int i) { return i; });
  } else {
    add(from, stride, weights, rows, count, sums, [step](int i) { return i * step; });
  }
}
#endif

[[gnu::noinline]] FERRY_KERNEL bool clips(const Block& block, const Added& added, float gain, int count) {
  gain /= 1 << kLumaShift;
  float least = 0, most = 0;
  for (int i = 0; i < count; ++i) {
    const float luma = block.luma[i] * gain, red = added.red[i], green = added.green[i], blue = added.blue[i];
    least = std::min(least, luma + std::min(std::min(red, green), blue));
    most = std::max(most, luma + std::max(std::max(red, green), blue));
  }
  return least < -0.5f || most > 255.5f;
}

// The same of two rows whose luma lies byte by byte, as does chroma in pairs: two samples at a time are a number of 16
// bits, whose halves need no shuffling. Where V is first it changes places with U, and red with blue: the least and the
// most are the same.
[[gnu::noinline]] FERRY_KERNEL bool pairs_clip(const uint8_t* upper, const uint8_t* lower, const uint8_t* chroma,
                                               bool u_first, const FixedMatrix& matrix, int pairs) {
  FixedMatrix m = matrix;
  if (!u_first) std::swap(m.red_v, m.blue_u), std::swap(m.green_u, m.green_v);
  typedef uint16_t Pair __attribute__((aligned(1), may_alias));
  const Pair *above = reinterpret_cast<const Pair*>(upper), *below = reinterpret_cast<const Pair*>(lower),
             *both = reinterpret_cast<const Pair*>(chroma);
  constexpr int16_t kSlack = 1 << (kSumBits - 1), kWhite = 255 << kSumBits;
  int16_t least = 0, most = 0;
  for (int i = 0; i < pairs; ++i) {
    const uint16_t a = above[i] & 255, b = above[i] >> 8, c = below[i] & 255, d = below[i] >> 8;
    const auto dark = static_cast<int16_t>(std::min(std::min(a, b), std::min(c, d)));
    const auto light = static_cast<int16_t>(std::max(std::max(a, b), std::max(c, d)));
    const auto u = static_cast<int16_t>((both[i] << 8) - (kGray << kChromaShift));
    const auto v = static_cast<int16_t>((both[i] & 0xff00) - (kGray << kChromaShift));
    const int16_t red = times(v, m.red_v), blue = times(u, m.blue_u);
    const auto green = static_cast<int16_t>(times(u, m.green_u) + times(v, m.green_v));
    const int16_t low = std::min(std::min(red, green), blue), high = std::max(std::max(red, green), blue);
    const auto luma = [&](int16_t l) { return times(static_cast<int16_t>((l - m.black) * (1 << kLumaShift)), m.luma); };
    least = std::min(least, static_cast<int16_t>(luma(dark) + low));
    most = std::max(most, static_cast<int16_t>(luma(light) + high));
  }
  return least < -kSlack || most > kWhite + kSlack;
}

FERRY_KERNEL void to_block(const uint16_t* luma, const uint16_t* u, const uint16_t* v, int step, int black, int count,
                           Block* block) {
  FERRY_INDEPENDENT
  for (int i = 0; i < count; ++i) block->luma[i] = static_cast<int16_t>((luma[i] >> 1) - (black << kLumaShift));
  const int pairs = (count + 1) / 2;
  const auto chroma = [&](int i, int at) {
    block->u[i] = static_cast<int16_t>(u[at] - (kGray << kChromaShift));
    block->v[i] = static_cast<int16_t>(v[at] - (kGray << kChromaShift));
  };
  if (step == 1) {
    FERRY_INDEPENDENT
    for (int i = 0; i < pairs; ++i) chroma(i, i);
  } else {
    FERRY_INDEPENDENT
    for (int i = 0; i < pairs; ++i) chroma(i, 2 * i);
  }
}

// Chroma whose samples alternate.
bool in_pairs(const Frame& frame, const uint8_t* u, const uint8_t* v) {
  return frame.planes[1].pixel == 2 && (u == v + 1 || v == u + 1);
}

// Eight at a time, of which the last may lie behind `count`.
FERRY_KERNEL void to_bytes(const uint16_t* sums, int count, uint8_t* out) {
  for (int i = 0; i < count; i += 8) {
    FERRY_INDEPENDENT
    for (int k = i; k < i + 8; ++k) out[k] = static_cast<uint8_t>(std::min(sums[k] + 128, 0xffff) >> 8);
  }
}

}  // namespace

// Whether any pixel clips of the rows that share a row of chroma, in a group's columns. Windows of rows overlap: it is
// kept.
bool FrameRows::some_clip(int chroma_y, const Group& group, uint8_t* known) {
  if (*known != kUnknown) return *known == kSome;
  *known = kNone;
  const int shift = frame_.half_rows ? 1 : 0;
  const int first = std::max(chroma_y << shift, frame_.top);
  const int last = std::min((chroma_y + 1) << shift, frame_.top + frame_.height);
  int x = group.first, count = group.last - group.first;
  const uint8_t *u = samples_at(frame_, 1, x / 2, chroma_y), *v = samples_at(frame_, 2, x / 2, chroma_y);
  if (frame_.planes[0].pixel == 1 && in_pairs(frame_, u, v)) {
    const int pairs = count / 2;
    const uint8_t *upper = samples_at(frame_, 0, x, first), *lower = samples_at(frame_, 0, x, last - 1);
    if (pairs_clip(upper, lower, std::min(u, v), u < v, frame_.fixed_matrix, pairs)) *known = kSome;
    x += 2 * pairs, count -= 2 * pairs;
  }
  Block block;
  Added added;
  if (count > 0 && *known == kNone) {
    read_chroma(frame_, x, first, (count + 1) / 2, &block);
    add_chroma(frame_.matrix, block, (count + 1) / 2, &added);
  }
  for (int y = first; y < last && count > 0 && *known == kNone; ++y) {
    read_luma(frame_, x, y, count, &block);
    if (clips(block, added, frame_.matrix.luma, count)) *known = kSome;
  }
  return *known == kSome;
}

void FrameRows::prepare(const Frame& frame, const ColumnPass& columns) {
  plane_columns_.prepare(columns.axis(), frame.left);
}

void FrameRows::begin(const Frame& frame, int channels) {
  frame_ = frame;
  channels_ = channels;
  const int rows = frame.half_rows ? frame.height / 2 + 2 : frame.height;
  if (!colours_) colours_.reset(new uint8_t[size_t{kRow} * kMaxRows]);
  clipping_.assign(static_cast<size_t>(rows) * plane_columns_.groups().size(), kUnknown);
}

struct FrameRows::Weights {
  uint16_t luma[kMaxRows], chroma[kMaxRows];
  int y = 0, rows = 0;  // in the frame
  int chroma_y = 0, chroma_rows = 0;
};

bool FrameRows::sum(int y, int rows, const int32_t* weights, const ColumnPass& columns, uint8_t* line) {
  const std::vector<PlaneColumns::Group>& groups = plane_columns_.groups();
  if (frame_.samples != Frame::Samples::Yuv || frame_.wide || channels_ != 4 || rows > kMaxRows || groups.empty())
    return false;
  Weights w;
  w.y = frame_.top + y;
  w.rows = rows;
  const int shift = frame_.half_rows ? 1 : 0;
  w.chroma_y = w.y >> shift;
  w.chroma_rows = ((w.y + rows - 1) >> shift) - w.chroma_y + 1;
  int32_t both[kMaxRows] = {};
  const auto sixteen = [](int32_t weight) {
    return static_cast<uint16_t>(std::min((weight + (1 << 5)) >> (kPrecisionBits - 16), 0xffff));
  };
  for (int k = 0; k < rows; ++k) {
    w.luma[k] = sixteen(weights[k]);
    both[((w.y + k) >> shift) - w.chroma_y] += weights[k];
  }
  for (int k = 0; k < w.chroma_rows; ++k) w.chroma[k] = sixteen(both[k]);
  uint8_t* known = clipping_.data() + static_cast<size_t>(w.chroma_y - (frame_.top >> shift)) * groups.size();
  for (const Group& group : groups) {
    bool clipped = false;
    for (int k = 0; k < w.chroma_rows && !clipped; ++k)
      clipped = some_clip(w.chroma_y + k, group, known + static_cast<size_t>(k) * groups.size());
    uint8_t* out = line + int64_t{group.begin} * 4;
    clipped ? sum_colours(w, group, columns, out) : sum_planes(w, group, out);
    ++known;
  }
  return true;
}

void FrameRows::sum_colours(const Weights& w, const Group& group, const ColumnPass& columns, uint8_t* out) {
  const int count = group.last - group.first;
  for (int k = 0; k < w.rows; ++k) convert(frame_, group.first, w.y + k, count, colours_.get() + k * kRow);
  uint16_t sums[kRow];
  uint8_t row[kRow + 4 * Rows::kSpare];
  add_rows(colours_.get(), kRow, 1, w.luma, w.rows, 4 * count, sums);
  to_bytes(sums, 4 * count, row);
  columns.run(row, group.first - frame_.left, group.begin, group.end, out);
}

void FrameRows::sum_planes(const Weights& w, const Group& group, uint8_t* out) {
  constexpr int kRoom = PlaneColumns::kRoom;
  Block block;
  const int x = group.first, count = group.last - x, pairs = (count + 1) / 2;
  const Plane *luma = &frame_.planes[0], *u = &frame_.planes[1], *v = &frame_.planes[2];
  uint16_t sums[kRoom], chroma[2 * kRoom], *first = chroma, *second = chroma + kRoom;
  add_rows(samples_at(frame_, 0, x, w.y), luma->row, luma->pixel, w.luma, w.rows, count, sums);
  const uint8_t *from_u = samples_at(frame_, 1, x / 2, w.chroma_y), *from_v = samples_at(frame_, 2, x / 2, w.chroma_y);
  int step = 1;
  if (in_pairs(frame_, from_u, from_v)) {  // one sum of both
    step = 2;
    add_rows(std::min(from_u, from_v), u->row, 1, w.chroma, w.chroma_rows, 2 * pairs, chroma);
    first = chroma + (from_u > from_v), second = chroma + (from_v > from_u);
  } else {
    add_rows(from_u, u->row, u->pixel, w.chroma, w.chroma_rows, pairs, first);
    add_rows(from_v, v->row, v->pixel, w.chroma, w.chroma_rows, pairs, second);
  }
  to_block(sums, first, second, step, frame_.fixed_matrix.black, count, &block);
  Filtered filtered;
  plane_columns_.run(block, group, &filtered);
  write_filtered(filtered, frame_.fixed_matrix, group.end - group.begin, out);
}

}  // namespace ferry::image
