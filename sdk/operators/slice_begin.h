// Where a Slice begins.
#pragma once

#include "ferry_generated.h"
#include "sdk/operators/shape.h"

namespace ferry {

// In dimension `dim` of its input: a negative begin counts from the end. Negative if it is before the first element,
// which the shape rule refuses.
inline int64_t slice_begin(const fbs::Slice& slice, int dim, const Shape& input) {
  const int64_t begin = slice.begin()->Get(static_cast<unsigned>(dim));
  return begin < 0 ? begin + input[dim] : begin;
}

}  // namespace ferry
