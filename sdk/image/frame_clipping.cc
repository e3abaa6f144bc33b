#include "sdk/image/frame_clipping.h"

#include <algorithm>
#include <cstring>

#include "sdk/image/frame_cells.h"

namespace ferry::image {
namespace {

// Copies a cell's samples if vector loads cannot read them. Past the frame's end the last sample is repeated.
struct Room {
  uint8_t luma[kLumaRows][kCell], chroma[2][Clipping::kGroup][kPairs];

  static void copy(const uint8_t* from, int step, int count, int enough, uint8_t* to) {
    if (step == 1) std::memcpy(to, from, static_cast<size_t>(count));
    for (int i = 0; i < count && step != 1; ++i) to[i] = from[i * step];
    std::fill(to + count, to + enough, to[count - 1]);
  }
  // Copies `count` columns.
  void take(const Frame& frame, int count, int rows, int chroma_rows, Samples* samples) {
    for (int i = 0; i < rows; ++i) {
      copy(samples->luma[i], frame.planes[0].pixel, count, kCell, luma[i]);
      samples->luma[i] = luma[i];
    }
    for (int i = 0; i < chroma_rows; ++i) {
      copy(samples->u[i], frame.planes[1].pixel, (count + 1) / 2, kPairs, chroma[0][i]);
      copy(samples->v[i], frame.planes[2].pixel, (count + 1) / 2, kPairs, chroma[1][i]);
      samples->u[i] = chroma[0][i], samples->v[i] = chroma[1][i];
    }
    samples->pairs = false;
  }
};

// Whether vector loads can read the samples.
bool side_by_side(const Frame& frame, bool pairs) {
  return frame.planes[0].pixel == 1 && (pairs || (frame.planes[1].pixel == 1 && frame.planes[2].pixel == 1));
}

}  // namespace

void Clipping::begin(const Frame& frame, int begin, int end) {
  begin_ = begin;
  end_ = end;
  top_ = frame.half_rows ? frame.top / 2 : frame.top;
  const int bottom = frame.top + frame.height, rows = (frame.half_rows ? (bottom + 1) / 2 : bottom) - top_;
  found_.assign(static_cast<size_t>(group_of(top_ + rows - 1) + 1) * static_cast<size_t>(1 + words()), kUnknown);
  constexpr float kUnit = 1 << kSumBits, kUp = kUnit - 1;
  YuvMatrix m = frame.matrix;
  for (float* factor : {&m.red_v, &m.green_u, &m.green_v, &m.blue_u}) *factor /= m.luma;
  const FixedMatrix fixed = fixed_of(m);
  steps_ = {fixed.red_v,
            fixed.green_u,
            fixed.green_v,
            fixed.blue_u,
            static_cast<int16_t>((static_cast<float>(m.black) - 0.5f / m.luma) * kUnit + kUp),
            static_cast<int16_t>((static_cast<float>(m.black) + 255.5f / m.luma) * kUnit)};
}

const uint64_t* Clipping::group(const Frame& frame, int group) {
  uint64_t* state = found_.data() + int64_t{group} * (1 + words());
  uint64_t* found = state + 1;
  if (*state == kUnknown) {
    find(frame, group, reinterpret_cast<uint8_t*>(found));
    uint64_t any = 0;
    for (int i = 0; i < words(); ++i) any |= found[i];
    *state = any != 0 ? kSome : kNone;
  }
  return *state == kSome ? found : nullptr;
}

void Clipping::find(const Frame& frame, int group, uint8_t* found) const {
  const int shift = frame.half_rows ? 1 : 0, last = frame.top + frame.height - 1;
  const int chroma[] = {chroma_of(group), std::min(chroma_of(group) + 1, last >> shift)};
  for (int x = begin_, cells = 0; x < end_; x += cells * kCell, found += cells) {
    Samples samples;
    for (int i = 0; i < kLumaRows; ++i) {
      const int row = std::min((chroma[0] << shift) + i, ((chroma[1] + 1) << shift) - 1);
      samples.luma[i] = samples_at(frame, 0, x, std::clamp(row, frame.top, last));
    }
    for (int i = 0; i < kGroup; ++i) {
      samples.u[i] = samples_at(frame, 1, x / 2, chroma[i]);
      samples.v[i] = samples_at(frame, 2, x / 2, chroma[i]);
    }
    samples.pairs = in_pairs(frame, samples.u[0], samples.v[0]);
    cells = side_by_side(frame, samples.pairs) ? (end_ - x) / kCell : 0;
    Room room;
    if (cells == 0) {
      room.take(frame, std::min(kCell, end_ - x), kLumaRows, kGroup, &samples);
      cells = 1;
    }
    find_clipping(samples, steps_, cells, found);
  }
}

int Clipping::add(const Frame& frame, int cell, int begin, int end, const int16_t* weights,
                  int16_t* const* sums) const {
  int colours = 0;
  const int x = begin_ + cell * kCell, count = std::min(kCell, end_ - x), shift = frame.half_rows ? 1 : 0;
  for (int y = begin, next = 0; y < end; y = next) {
    next = std::min(((y >> shift) + 1) << shift, end);
    const int16_t of_rows[] = {weights[y - begin], next > y + 1 ? weights[y + 1 - begin] : int16_t{0}};
    Samples samples;
    samples.luma[0] = samples_at(frame, 0, x, y), samples.luma[1] = samples_at(frame, 0, x, next - 1);
    samples.u[0] = samples_at(frame, 1, x / 2, y >> shift), samples.v[0] = samples_at(frame, 2, x / 2, y >> shift);
    samples.pairs = in_pairs(frame, samples.u[0], samples.v[0]);
    Room room;
    if (count < kCell || !side_by_side(frame, samples.pairs)) room.take(frame, count, 2, 1, &samples);
    colours |= add_two(samples, of_rows, frame.fixed_matrix, sums);
  }
  return colours;
}

}  // namespace ferry::image
