// One axis of Pillow's resize: the source positions and coefficients of each output.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ferry_generated.h"

namespace ferry::image {

// Coefficients are fixed-point numbers. Samples take 8 bits, and overshooting filters need 2 more, which leaves 22.
inline constexpr int kPrecisionBits = 32 - 8 - 2;

// The outputs [begin, begin + count) of an axis that is resized from `source` to `target` positions. `mirrored`: the
// source is stored in reverse order.
struct Side {
  int source = 0, target = 0;
  int begin = 0, count = 0;
  bool mirrored = false;

  bool operator==(const Side&) const = default;
};

class Axis {
 public:
  // As in Pillow (src/libImaging/Resample.c): every filter except Nearest is antialiased, with a support that grows
  // with the reduction. Allocates only to grow.
  void compute(const Side& side, fbs::Filter filter);

  const Side& side() const { return side_; }
  int outputs() const { return side_.count; }
  // The output whose source positions are nth in memory.
  int in_memory(int n) const { return side_.mirrored ? outputs() - 1 - n : n; }
  // Whether each output is the source position of the same index.
  bool identity() const { return side_.source == side_.target && !side_.mirrored; }
  // Output i: its source positions [begin(i), begin(i) + count(i)) in memory, and their coefficients.
  int begin(int i) const { return entry(i)[0]; }
  int count(int i) const { return entry(i)[1]; }
  const int32_t* of(int i) const { return entry(i) + 2; }
  // The table itself, one entry per output: begin, count, and taps() coefficients.
  std::span<const int32_t> entries() const { return entries_; }
  size_t entry_size() const { return taps_ + 2; }
  // Maximum number of coefficients of an output.
  size_t taps() const { return taps_; }
  // All positions that any output uses: [first, last).
  int first() const { return side_.mirrored ? begin(outputs() - 1) : begin(0); }
  int last() const {
    const int i = side_.mirrored ? 0 : outputs() - 1;
    return begin(i) + count(i);
  }

 private:
  // Entry of an output: begin, count and space for taps_ coefficients.
  const int32_t* entry(int i) const { return entries_.data() + static_cast<size_t>(i) * entry_size(); }
  void take_nearest();

  Side side_;
  size_t taps_ = 0;
  std::vector<int32_t> entries_;
};

}  // namespace ferry::image
