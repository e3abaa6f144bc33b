#include "sdk/image/resize.h"

#include <algorithm>
#include <cstring>

#include "sdk/kernel.h"

namespace ferry::image {
namespace {

constexpr int32_t kHalf = 1 << (kPrecisionBits - 1);
constexpr int32_t kOne = 1 << kPrecisionBits;

constexpr int kAtOnce = 4;  // taps of a pixel's 4 samples per iteration
typedef int32_t Sums __attribute__((vector_size(64)));
typedef int32_t HalfBlock __attribute__((vector_size(32)));
typedef int32_t Quarter __attribute__((vector_size(16)));
typedef int32_t Weights __attribute__((vector_size(64), aligned(4), may_alias));
typedef int16_t Shorts __attribute__((vector_size(32)));
typedef uint8_t Bytes __attribute__((vector_size(16), aligned(1), may_alias));

uint8_t to_byte(int32_t fixed) {
  const int32_t value = fixed >> kPrecisionBits;
  return static_cast<uint8_t>(value < 0 ? 0 : value > 255 ? 255 : value);
}

// Coefficients per output in that layout.
size_t room_of(const Axis& axis) { return (axis.taps() + kAtOnce - 1) / kAtOnce * kAtOnce * 4; }

// Pixels of 4 bytes, with as many taps per iteration as a vector holds. `source` begins at position `first`.
FERRY_KERNEL void narrow_4(const uint8_t* source, int first, const Axis& axis, const int32_t* spread, int begin,
                           int end, uint8_t* target) {
  constexpr int kPixels = 16;
  const size_t room = room_of(axis);
  int32_t block[4 * kPixels];
  for (; begin < end; begin += kPixels, target += 4 * kPixels) {
    const int count = std::min(kPixels, end - begin);
    for (int x = 0; x < count; ++x) {
      const uint8_t* pixel = source + int64_t{axis.begin(begin + x) - first} * 4;
      const int32_t* weights = spread + static_cast<size_t>(begin + x) * room;
      Sums sums = {};
      for (int i = 0, n = axis.count(begin + x); i < n; i += kAtOnce, pixel += 4 * kAtOnce, weights += 4 * kAtOnce) {
        // In two steps: there is an instruction for each.
        const Shorts samples = __builtin_convertvector(*reinterpret_cast<const Bytes*>(pixel), Shorts);
        sums += __builtin_convertvector(samples, Sums) * *reinterpret_cast<const Weights*>(weights);
      }
      const HalfBlock half = __builtin_shufflevector(sums, sums, 0, 1, 2, 3, 4, 5, 6, 7) +
                             __builtin_shufflevector(sums, sums, 8, 9, 10, 11, 12, 13, 14, 15);
      const Quarter sum =
          __builtin_shufflevector(half, half, 0, 1, 2, 3) + __builtin_shufflevector(half, half, 4, 5, 6, 7);
      std::memcpy(block + 4 * x, &sum, sizeof(sum));
    }
    for (int i = 0; i < 4 * count; ++i) target[i] = to_byte(block[i] + kHalf);
  }
}

void narrow_few(const uint8_t* source, int first, const Axis& axis, int channels, int begin, int end, uint8_t* target) {
  for (int x = begin; x < end; ++x) {
    const int32_t* w = axis.of(x);
    for (int c = 0; c < channels; ++c) {
      const uint8_t* sample = source + int64_t{axis.begin(x) - first} * channels + c;
      int32_t sum = kHalf;
      for (int i = 0, n = axis.count(x); i < n; ++i, sample += channels) sum += *sample * w[i];
      *target++ = to_byte(sum);
    }
  }
}

// Sums of rows. They are exact integers, so the order does not matter.
FERRY_KERNEL void add_rows(const uint8_t* const* rows, const int32_t* w, int count, int samples, uint8_t* target) {
  constexpr int kBlock = 128;
  int32_t sums[kBlock];
  for (int begin = 0; begin < samples; begin += kBlock) {
    const int n = std::min(kBlock, samples - begin);
    for (int i = 0; i < n; ++i) sums[i] = kHalf;
    for (int k = 0; k < count; ++k) {
      const uint8_t* from = rows[k] + begin;
      const int32_t weight = w[k];
      for (int i = 0; i < n; ++i) sums[i] += from[i] * weight;
    }
    for (int i = 0; i < n; ++i) target[begin + i] = to_byte(sums[i]);
  }
}

class ViewRows final : public Rows {
 public:
  explicit ViewRows(const View& view) : view_(view) {}
  const uint8_t* row(int y, int begin, int end, uint8_t* room) override {
    const uint8_t* row = view_.row(y) + int64_t{begin} * view_.channels;
    if (view_.channels < 4) return row;
    std::memcpy(room, row, static_cast<size_t>(end - begin) * 4);
    return room;
  }

 private:
  const View& view_;
};

class PixelLines final : public Lines {
 public:
  explicit PixelLines(Pixels* pixels) : pixels_(*pixels), view_(pixels->view()) {}
  void line(int at, const uint8_t* pixels) override {
    std::memcpy(pixels_.row(at), pixels, static_cast<size_t>(view_.width * view_.channels));
  }

 private:
  Pixels& pixels_;
  View view_;
};

}  // namespace

// Coefficients in narrow_4()'s layout: each four times, padded with zeros to a vector.
void ColumnPass::prepare(const Side& side, fbs::Filter filter, int channels) {
  axis_.compute(side, filter);
  channels_ = channels;
  if (channels != 4) return;
  const size_t room = room_of(axis_);
  spread_.assign(static_cast<size_t>(axis_.outputs()) * room, 0);
  int32_t* to = spread_.data();
  for (int x = 0; x < axis_.outputs(); ++x, to += room) {
    for (int i = 0; i < 4 * axis_.count(x); ++i) to[i] = axis_.of(x)[i / 4];
  }
}

void ColumnPass::run(const uint8_t* row, int first, int begin, int end, uint8_t* target) const {
  if (channels_ == 4) return narrow_4(row, first, axis_, spread_.data(), begin, end, target);
  narrow_few(row, first, axis_, channels_, begin, end, target);
}

void Resizer::prepare(const Side& columns, const Side& rows, Order order, fbs::Filter filter, int channels) {
  columns_.prepare(columns, filter, channels);
  rows_.compute(rows, filter);
  order_ = order;
  channels_ = channels;
  const auto bytes = [channels](int pixels) { return static_cast<size_t>(pixels) * static_cast<size_t>(channels); };
  const Axis& axis = columns_.axis();
  const int wide = axis.last() - axis.first() + Rows::kSpare;
  slot_ = bytes(rows_first() || axis.identity() ? wide : axis.outputs());
  kept_ = std::make_unique<const uint8_t*[]>(2 * rows_.taps());
  // Slots, then a row before and one after the column pass.
  const size_t slots = slot_ * rows_.taps(), widest = bytes(wide);
  memory_.resize(slots + widest + bytes(std::max(wide, axis.outputs())));
  wide_ = memory_.data() + slots;
  narrow_ = wide_ + widest;
}

const uint8_t* Resizer::narrow(const uint8_t* row, uint8_t* target) const {
  if (columns_.axis().identity()) return row;
  columns_.run(row, columns_.axis().first(), 0, columns_.axis().outputs(), target);
  return target;
}

const uint8_t* Resizer::read(Rows& rows, int y, uint8_t* slot) {
  const int first = columns_.axis().first(), last = columns_.axis().last();
  if (rows_first() || columns_.axis().identity()) return rows.row(y, first, last, slot);
  return narrow(rows.row(y, first, last, wide_), slot);
}

// The nth output of `rows_` in memory order.
const uint8_t* Resizer::line(Rows& rows, int n) {
  if (rows.sum(rows_, n, narrow_)) return narrow_;
  const int output = rows_.in_memory(n), begin = rows_.begin(output), count = rows_.count(output);
  const int32_t* w = rows_.of(output);
  const size_t slots = rows_.taps();
  for (next_ = std::max(next_, begin); next_ < begin + count; ++next_) {
    const size_t slot = static_cast<size_t>(next_) % slots;
    kept_[slot] = read(rows, next_, memory_.data() + slot * slot_);
  }
  const uint8_t** taps = kept_.get() + slots;
  for (int k = 0; k < count; ++k) taps[k] = kept_[static_cast<size_t>(begin + k) % slots];
  const uint8_t* line = taps[0];
  if (count > 1 || *w != kOne) {
    const Axis& axis = columns_.axis();
    uint8_t* out = rows_first() ? wide_ : narrow_;
    add_rows(taps, w, count, (rows_first() ? axis.last() - axis.first() : axis.outputs()) * channels_, out);
    line = out;
  }
  return rows_first() ? narrow(line, narrow_) : line;
}

void Resizer::run(Rows& rows, Lines& lines) {
  next_ = 0;
  for (int n = 0; n < rows_.outputs(); ++n) lines.line(rows_.in_memory(n), line(rows, n));
}

Status resize(const View& source, int width, int height, fbs::Filter filter, Pixels* out) {
  FERRY_TRY(out->allocate(width, height, source.channels));
  Resizer resizer;
  resizer.prepare({source.width, width, 0, width}, {source.height, height, 0, height}, Resizer::Order::ColumnsFirst,
                  filter, source.channels);
  ViewRows rows(source);
  PixelLines lines(out);
  resizer.run(rows, lines);
  return {};
}

}  // namespace ferry::image
