// Resizes a frame with weighted sums of its rows. RGB is linear in luma and chroma except where it clips. Planes are
// therefore summed over rows, filtered over columns, and only then converted to RGB. The clipping excess is summed
// separately where colours clip. kLanes lines are computed together, for PlaneColumns.
#include <algorithm>

#include "sdk/image/frame.h"
#include "sdk/image/frame_colours.h"
#include "sdk/image/frame_lines.h"

namespace ferry::image {
namespace {

// Planes of sums_ and outputs_; outputs_ may hold filtered colours instead.
constexpr int kPlanes = 6, kChroma = 1, kExcess = 3;

constexpr int first_line(int plane) { return plane * kLanes; }

}  // namespace

void FrameRows::prepare(const Frame& frame, const Resizer& resizer, bool sums) {
  sums_near_ = sums;
  if (!sums) return;
  order_ = resizer.order();
  planes_.prepare(resizer.columns(), frame.left);
  const int width = planes_.last() - planes_.first() + planes_.spare() + Clipping::kCell;
  const int narrow = (planes_.outputs() + kTogether - 1) / kTogether * kTogether,
            colours = order_ == Resizer::Order::RowsFirst ? width : narrow;
  sums_.prepare(width, kPlanes * kLanes);
  outputs_.prepare(colours, kPlanes * kLanes);
  colours_.prepare(colours, 3 * kLanes);
  both_.resize(static_cast<size_t>(width + 1));
  slots_ = order_ == Resizer::Order::ColumnsFirst ? static_cast<int>(resizer.rows().taps()) + kLanes : 0;
  kept_.prepare(narrow, 3 * slots_);
}

void FrameRows::begin(const Frame& frame, int channels) {
  frame_ = frame;
  channels_ = channels;
  adds_planes_ = sums_near_ && frame.samples == Frame::Samples::Yuv && !frame.wide && channels == 4;
  if (!adds_planes_) return;
  // Eight rows have only four chroma rows: U and V are filtered together.
  v_ = first_line(kChroma + 1);
  if (order_ == Resizer::Order::ColumnsFirst && frame.half_rows) v_ -= kLanes / 2;
  clipping_.begin(frame, planes_.first(), planes_.last());
  clips_.resize(static_cast<size_t>(clipping_.cells()));
  next_ = 0;
}

// Weights of the frame's rows for one output.
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

bool FrameRows::sum(const Axis& rows, int n, uint8_t* line) {
  if (!adds_planes_ || rows.taps() > kMaxRows) return false;
  const int at = n % kLanes;
  int16_t* colours[3];
  for (int c = 0; c < 3; ++c) colours[c] = colours_.line(c);
  if (order_ == Resizer::Order::ColumnsFirst) {
    const int output = rows.in_memory(n), begin = rows.begin(output), count = rows.count(output);
    int16_t weights[kMaxRows];
    fixed_weights(rows.of(output), count, weights);
    keep_rows(rows, begin, begin + count);
    const int16_t* lines[kMaxRows];
    for (int c = 0; c < 3; ++c) {
      for (int k = 0; k < count; ++k) lines[k] = kept(begin + k, c);
      add_lines(lines, weights, count, planes_.outputs(), colours[c]);
    }
  } else {
    if (at == 0) sum_block(rows, n);
    if (order_ == Resizer::Order::SumsFirst) {
      to_colours(at, at, colours);
    } else {
      for (int c = 0; c < 3; ++c) colours[c] = outputs_.line(first_line(kExcess + c) + at);
    }
  }
  write_rounded(colours, planes_.outputs(), line);
  return true;
}

void FrameRows::none_clip() {
  clipping_lines_ = 0;
  std::fill(clips_.begin(), clips_.end(), uint8_t{0});
}

// Sums kLanes outputs from the nth on; with RowsFirst, converts them to colours before the column pass.
void FrameRows::sum_block(const Axis& rows, int n) {
  const bool sums_first = order_ == Resizer::Order::SumsFirst;
  none_clip();
  for (int i = 0; i < kLanes && n + i < rows.outputs(); ++i) {
    const int output = rows.in_memory(n + i);
    const Weights w(frame_, rows.begin(output), rows.count(output), rows.of(output));
    sum_planes(w, i, i);
    sum_excess(w, i);
    if (sums_first) continue;
    int16_t* colours[3];
    for (int c = 0; c < 3; ++c) colours[c] = colours_.line(first_line(c) + i);
    to_colours(i, i, colours);
  }
  if (sums_first) return filter();
  for (int c = 0; c < 3; ++c)
    planes_.each(colours_.from(first_line(c)), 0, planes_.outputs(), outputs_.from(first_line(kExcess + c)));
}

// ColumnsFirst: filtered colours of rows [begin, end). Row windows overlap, and each row is computed once.
void FrameRows::keep_rows(const Axis& rows, int begin, int end) {
  constexpr int32_t kOne = 1 << kPrecisionBits;
  const int shift = frame_.half_rows ? 1 : 0;
  next_ = std::max(next_, begin);
  while (next_ < end) {
    // After the first pass, both rows that share a chroma row are included.
    const int first = next_, y = frame_.top + first, count = std::min(kLanes - y % kLanes, rows.last() - first);
    const auto chroma_line = [&](int i) { return ((y + i) >> shift) - (y >> shift); };
    none_clip();
    for (int i = 0; i < count; ++i) {
      const Weights w(frame_, first + i, 1, &kOne);
      sum_planes(w, i, i > 0 && chroma_line(i) == chroma_line(i - 1) ? -1 : chroma_line(i));
      sum_excess(w, i);
    }
    filter();
    for (int i = 0; i < count; ++i, ++next_) {
      int16_t* colours[] = {kept(next_, 0), kept(next_, 1), kept(next_, 2)};
      to_colours(i, chroma_line(i), colours);
    }
  }
}

// The column pass over the sums.
void FrameRows::filter() {
  const int outputs = planes_.outputs(), u = first_line(kChroma);
  planes_.each(sums_.from(0), 0, outputs, outputs_.from(0));
  planes_.pairs(sums_.from(u), 0, outputs, outputs_.from(u));
  if (v_ >= u + kLanes) planes_.pairs(sums_.from(v_), 0, outputs, outputs_.from(v_));
  if (clipping_lines_ == 0) return;
  for (int line = 0; line < kLanes; ++line)
    if ((clipping_lines_ >> line & 1) == 0) clear_excess(line);
  for (int c = 0; c < 3; ++c) {
    const LineBlock out = outputs_.from(first_line(kExcess + c));
    std::fill(out.samples, out.line(kLanes), int16_t{0});
  }
  for (int c = 0; c < 3; ++c) filter_excess(c);
}

// The column pass over the excess of one colour.
void FrameRows::filter_excess(int colour) {
  const int line = first_line(kExcess + colour), cells = clipping_.cells();
  const auto clips = [&](int cell) { return cell < cells && (clips_[static_cast<size_t>(cell)] >> colour & 1) != 0; };
  for (int first = 0, cell = 0; cell < cells; ++cell) {
    if (!clips(cell)) first = cell + 1;
    if (!clips(cell) || clips(cell + 1)) continue;
    int begin = first * Clipping::kCell, end = (cell + 1) * Clipping::kCell;
    planes_.to_outputs(&begin, &end);
    planes_.each(sums_.from(line), begin, end, outputs_.from(line));
  }
}

// Converts sums to colours; they are filtered unless rows come first.
void FrameRows::to_colours(int line, int chroma_line, int16_t* const* colours) {
  const int width = planes_.last() - planes_.first(), u = first_line(kChroma) + chroma_line, v = v_ + chroma_line;
  const bool filtered = order_ != Resizer::Order::RowsFirst;
  if (!filtered) {
    for (const int chroma : {u, v}) spread(sums_.line(chroma), width, outputs_.line(chroma));
  }
  LineBuffer& lines = filtered ? outputs_ : sums_;
  Summed summed = {lines.line(line), outputs_.line(u), outputs_.line(v), {}};
  const bool clips = filtered ? clipping_lines_ != 0 : (clipping_lines_ >> line & 1) != 0;
  for (int c = 0; c < 3 && clips; ++c) summed.excess[c] = lines.line(first_line(kExcess + c) + line);
  image::to_colours(summed, frame_.fixed_matrix, filtered ? planes_.outputs() : width, colours);
}

// A negative chroma_line: no chroma.
void FrameRows::sum_planes(const Weights& w, int line, int chroma_line) {
  const int x = planes_.first(), count = planes_.last() - x, pairs = (count + 1) / 2;
  const Plane *luma = &frame_.planes[0], *u = &frame_.planes[1], *v = &frame_.planes[2];
  add_rows(samples_at(frame_, 0, x, w.y), luma->row, luma->pixel, w.luma, w.rows, count, sums_.line(line));
  if (chroma_line < 0) return;
  const uint8_t *from_u = samples_at(frame_, 1, x / 2, w.chroma_y), *from_v = samples_at(frame_, 2, x / 2, w.chroma_y);
  int16_t *to_u = sums_.line(first_line(kChroma) + chroma_line), *to_v = sums_.line(v_ + chroma_line);
  if (in_pairs(frame_, from_u, from_v)) {  // one sum of interleaved chroma
    add_rows(std::min(from_u, from_v), u->row, 1, w.chroma, w.chroma_rows, 2 * pairs, both_.data());
    from_u < from_v ? separate(both_.data(), pairs, to_u, to_v) : separate(both_.data(), pairs, to_v, to_u);
  } else {
    add_rows(from_u, u->row, u->pixel, w.chroma, w.chroma_rows, pairs, to_u);
    add_rows(from_v, v->row, v->pixel, w.chroma, w.chroma_rows, pairs, to_v);
  }
}

// Excess where cells clip; zero elsewhere.
void FrameRows::sum_excess(const Weights& w, int line) {
  const int first = clipping_.group_of(w.chroma_y), last = clipping_.group_of(w.chroma_y + w.chroma_rows - 1);
  const uint64_t* found[kMaxRows];
  int count = 0;
  for (int group = first; group <= last; ++group)
    count += (found[group - first] = clipping_.group(frame_, group)) != nullptr ? 1 : 0;
  if (count == 0) return;
  clear_excess(line);
  for (int eight = 0; eight < clipping_.words(); ++eight) {
    uint64_t any = 0;
    for (int group = first; group <= last; ++group) any |= found[group - first] ? found[group - first][eight] : 0;
    for (int cell = 8 * eight; any != 0 && cell < std::min(8 * eight + 8, clipping_.cells()); ++cell) {
      int from = last + 1, to = first;  // groups
      for (int group = first; group <= last; ++group)
        if (found[group - first] && Clipping::has(found[group - first], cell))
          from = std::min(from, group), to = group + 1;
      if (from < to) add_excess(w, from, to, cell, line);
    }
  }
}

// Adds the excess of one cell in groups [from, to).
void FrameRows::add_excess(const Weights& w, int from, int to, int cell, int line) {
  const int shift = frame_.half_rows ? 1 : 0;
  const int begin = std::max(clipping_.chroma_of(from) << shift, w.y);
  const int end = std::min(clipping_.chroma_of(to) << shift, w.y + w.rows);
  int16_t* sums[3];
  for (int c = 0; c < 3; ++c) sums[c] = sums_.line(first_line(kExcess + c) + line) + cell * Clipping::kCell;
  const int colours = clipping_.add(frame_, cell, begin, end, w.luma + begin - w.y, sums);
  clips_[static_cast<size_t>(cell)] |= static_cast<uint8_t>(colours);
  if (colours != 0) clipping_lines_ |= 1 << line;
}

void FrameRows::clear_excess(int line) {
  const int samples = clipping_.cells() * Clipping::kCell + planes_.spare();
  for (int c = 0; c < 3; ++c) {
    int16_t* sums = sums_.line(first_line(kExcess + c) + line);
    std::fill(sums, sums + samples, int16_t{0});
  }
}

}  // namespace ferry::image
