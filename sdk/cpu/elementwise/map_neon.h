// Applies an elementwise function on vectors (vector.h), float32 or float16: for unary.kernel.cc and
// unary_neon_fp16.cc.
#pragma once

#include <algorithm>
#include <cstddef>

#include "sdk/cpu/elementwise/vector.h"

namespace ferry::cpu {
namespace {

template <typename Function>
void map(const Lane* from, Lane* to, size_t count) {
  for (const Lane* const end = from + count / (2 * kLanes) * (2 * kLanes); from != end;) {
    Vector first, second;
    load_pair(from, first, second);
    store_pair(to, Function::of(first), Function::of(second));
  }
  count %= 2 * kLanes;
  while (count > 0) {
    const size_t some = std::min(count, kLanes);
    Lane rest[kLanes] = {};
    std::copy_n(from, some, rest);
    store(rest, Function::of(load(rest)));
    std::copy_n(rest, some, to);
    count -= some;
    from += some;
    to += some;
  }
}

}  // namespace
}  // namespace ferry::cpu
