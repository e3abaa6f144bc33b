// One axis of Pillow's resize: which positions of the source count for each output, and how much.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ferry_generated.h"

namespace ferry::image {

// Coefficients are fixed-point numbers: 8 bits of sample and 2 of headroom for filters that overshoot leave 22.
inline constexpr int kPrecisionBits = 32 - 8 - 2;

// Of an axis of `source` positions that is resized to `target`: the outputs [begin, begin + count). `mirrored`: the
// source lies in memory from its other end.
struct Side {
  int source = 0, target = 0;
  int begin = 0, count = 0;
  bool mirrored = false;

  bool operator==(const Side&) const = default;
};

class Axis {
 public:
  // As Pillow does it (src/libImaging/Resample.c): every filter but Nearest is antialiased, its support grows with the
  // reduction. Takes memory only where more is needed than before.
  void compute(const Side& side, fbs::Filter filter);

  const Side& side() const { return side_; }
  int outputs() const { return side_.count; }
  // The output whose positions come nth in memory.
  int in_memory(int n) const { return side_.mirrored ? outputs() - 1 - n : n; }
  // Nothing changes: each output is the position in its place.
  bool identity() const { return side_.source == side_.target && !side_.mirrored; }
  // Output i: positions in memory from begin(i) on, count(i) of them, and their coefficients.
  int begin(int i) const { return entry(i)[0]; }
  int count(int i) const { return entry(i)[1]; }
  const int32_t* of(int i) const { return entry(i) + 2; }
  // All of that as it lies, an entry an output: begin, count, coefficients and room up to taps() of them.
  std::span<const int32_t> entries() const { return entries_; }
  size_t entry_size() const { return taps_ + 2; }
  // The most that an output has.
  size_t taps() const { return taps_; }
  // All positions that count for any output: [first, last).
  int first() const { return side_.mirrored ? begin(outputs() - 1) : begin(0); }
  int last() const {
    const int i = side_.mirrored ? 0 : outputs() - 1;
    return begin(i) + count(i);
  }

 private:
  // Of an output: begin, count and room for taps_ coefficients.
  const int32_t* entry(int i) const { return entries_.data() + static_cast<size_t>(i) * entry_size(); }
  void take_nearest();

  Side side_;
  size_t taps_ = 0;
  std::vector<int32_t> entries_;
};

}  // namespace ferry::image
