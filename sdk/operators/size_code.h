// Sizes that follow a dimension of another tensor: sdk/schema/ferry.fbs, `Slice`.
#pragma once

#include <cstdint>

#include "ferry_generated.h"
#include "sdk/operators/shape.h"

namespace ferry {

struct SizeCode {
  static_assert(FERRY_MAX_RANK <= 8);

  int dim = 0;
  int32_t divisor = 1;
  bool up = false;

  // Whether a size is more than a dimension of the other tensor.
  static constexpr bool is_part(int32_t size) { return size <= -2 - 8; }
  // Of a size below -1.
  static SizeCode decode(int32_t size) {
    const int64_t code = -2 - int64_t{size}, m = code / 8;
    return {static_cast<int>(code % 8), static_cast<int32_t>(m / 2 + 1), m % 2 != 0};
  }
  int32_t encode() const { return -2 - dim - 8 * (2 * (divisor - 1) + (up ? 1 : 0)); }
  // The size, given the dimension's.
  int32_t of(int32_t size) const { return size / divisor + (up && size % divisor != 0 ? 1 : 0); }
};

// A begin of a Slice whose elements are the last ones.
inline constexpr int32_t kLastElements = INT32_MIN;

// A size of a Slice that leaves out the last `size - kAllBut` elements, fewer than 2^24.
inline constexpr int32_t kAllBut = INT32_MIN;
constexpr int32_t all_but(int32_t left) { return kAllBut + left; }
constexpr bool is_all_but(int32_t size) { return size < kAllBut + (1 << 24); }

// Where a Slice begins in dimension `dim` of its input, of which it takes `size` elements: a negative begin counts from
// the end. Negative if it is before the first element, which the shape rule refuses.
inline int64_t slice_begin(const fbs::Slice& slice, int dim, const Shape& input, int64_t size) {
  const int64_t begin = slice.begin()->Get(static_cast<unsigned>(dim));
  if (begin == kLastElements) return input[dim] - size;
  return begin < 0 ? begin + input[dim] : begin;
}

}  // namespace ferry
