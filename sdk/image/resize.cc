#include "sdk/image/resize.h"

#include <algorithm>
#include <cstring>

#include "sdk/kernel.h"

namespace ferry::image {
namespace {

constexpr int32_t kHalf = 1 << (kPrecisionBits - 1);
constexpr int32_t kOne = 1 << kPrecisionBits;

typedef int32_t Four __attribute__((vector_size(16)));
typedef uint8_t FourBytes __attribute__((vector_size(4)));

uint8_t to_byte(int32_t fixed) {
  const int32_t value = fixed >> kPrecisionBits;
  return static_cast<uint8_t>(value < 0 ? 0 : value > 255 ? 255 : value);
}

template <int Channels>
Four load(const uint8_t* pixel) {
  FourBytes bytes = {};
  std::memcpy(&bytes, pixel, Channels);
  return __builtin_convertvector(bytes, Four);
}

// A pixel's samples side by side in a vector. Of 3, what follows is read and not used, but for the last pixel.
// `source` begins with the axis's first position.
template <int Channels>
[[gnu::always_inline]] inline void narrow(const uint8_t* source, const Axis& axis, uint8_t* target) {
  const int first = axis.first();
  for (int x = 0; x < axis.outputs(); ++x, target += Channels) {
    const int32_t* w = axis.of(x);
    const uint8_t* pixel = source + int64_t{axis.begin(x) - first} * Channels;
    Four sum = {kHalf, kHalf, kHalf, kHalf};
    const int last = axis.count(x) - 1;
    for (int i = 0; i < last; ++i, pixel += Channels) sum += load<4>(pixel) * w[i];
    sum += load<Channels>(pixel) * w[last];
    for (int c = 0; c < Channels; ++c) target[c] = to_byte(sum[c]);
  }
}

FERRY_KERNEL void narrow_3(const uint8_t* source, const Axis& axis, uint8_t* target) {
  narrow<3>(source, axis, target);
}
FERRY_KERNEL void narrow_4(const uint8_t* source, const Axis& axis, uint8_t* target) {
  narrow<4>(source, axis, target);
}

void narrow_few(const uint8_t* source, const Axis& axis, int channels, uint8_t* target) {
  const int first = axis.first();
  for (int x = 0; x < axis.outputs(); ++x) {
    const int32_t* w = axis.of(x);
    for (int c = 0; c < channels; ++c) {
      const uint8_t* sample = source + int64_t{axis.begin(x) - first} * channels + c;
      int32_t sum = kHalf;
      for (int i = 0, n = axis.count(x); i < n; ++i, sample += channels) sum += *sample * w[i];
      *target++ = to_byte(sum);
    }
  }
}

// The sums of rows. They are exact integers, so the order does not matter.
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

void narrow_row(const uint8_t* source, const Axis& axis, int channels, uint8_t* target) {
  switch (channels) {
    case 3: return narrow_3(source, axis, target);
    case 4: return narrow_4(source, axis, target);
    default: return narrow_few(source, axis, channels, target);
  }
}

class ViewRows final : public Rows {
 public:
  explicit ViewRows(const View& view) : view_(view) {}
  const uint8_t* row(int y, int begin, int, uint8_t*) const override {
    return view_.row(y) + int64_t{begin} * view_.channels;
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

void Resizer::prepare(const Side& columns, const Side& rows, bool rows_first, fbs::Filter filter, int channels) {
  columns_.compute(columns, filter);
  rows_.compute(rows, filter);
  rows_first_ = rows_first;
  channels_ = channels;
  const auto bytes = [channels](int pixels) { return static_cast<size_t>(pixels) * static_cast<size_t>(channels); };
  constexpr int kSpare = 2;
  const int wide = columns_.last() - columns_.first() + kSpare;
  slot_ = bytes(rows_first || columns_.identity() ? wide : columns_.outputs());
  kept_.resize(rows_.taps());
  taps_.resize(rows_.taps());
  slots_.resize(slot_ * rows_.taps());
  wide_.resize(bytes(wide));
  narrow_.resize(bytes(std::max(wide, columns_.outputs())));
}

const uint8_t* Resizer::read(const Rows& rows, int y, uint8_t* slot) {
  const int first = columns_.first(), last = columns_.last();
  if (rows_first_ || columns_.identity()) return rows.row(y, first, last, slot);
  const uint8_t* row = rows.row(y, first, last, wide_.data());
  narrow_row(row, columns_, channels_, slot);
  return slot;
}

void Resizer::run(const Rows& rows, Lines& lines) {
  const int width = rows_first_ ? columns_.last() - columns_.first() : columns_.outputs();
  const int samples = width * channels_;
  int next = 0;
  for (int n = 0; n < rows_.outputs(); ++n) {
    const int i = rows_.side().mirrored ? rows_.outputs() - 1 - n : n;
    const int begin = rows_.begin(i), count = rows_.count(i);
    for (next = std::max(next, begin); next < begin + count; ++next) {
      const size_t slot = static_cast<size_t>(next) % kept_.size();
      kept_[slot] = read(rows, next, slots_.data() + slot * slot_);
    }
    for (int k = 0; k < count; ++k)
      taps_[static_cast<size_t>(k)] = kept_[static_cast<size_t>(begin + k) % kept_.size()];
    const uint8_t* line = taps_[0];
    if (count != 1 || *rows_.of(i) != kOne) {
      add_rows(taps_.data(), rows_.of(i), count, samples, rows_first_ ? wide_.data() : narrow_.data());
      line = rows_first_ ? wide_.data() : narrow_.data();
    }
    if (rows_first_ && !columns_.identity()) {
      narrow_row(line, columns_, channels_, narrow_.data());
      line = narrow_.data();
    }
    lines.line(i, line);
  }
}

Status resize(const View& source, int width, int height, fbs::Filter filter, Pixels* out) {
  FERRY_TRY(out->allocate(width, height, source.channels));
  Resizer resizer;
  resizer.prepare({source.width, width, 0, width}, {source.height, height, 0, height}, false, filter, source.channels);
  PixelLines lines(out);
  resizer.run(ViewRows(source), lines);
  return {};
}

}  // namespace ferry::image
