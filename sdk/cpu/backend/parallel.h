// What our own kernels share: a loop over a thread pool.
#pragma once

#include "sdk/kernel.h"
#include "sdk/threads/loops.h"

#include <algorithm>
#include <cstddef>

namespace ferry::cpu {

// Elements that one task should handle, so that handing it out costs little beside it.
inline constexpr size_t kGrain = 8192;

// body(begin, end) over all of [0, count) in ranges of `tile`, the same ones for every pool: results cannot depend on
// the number of threads.
template <typename Body>
void parallel_for(Pool* pool, size_t count, size_t tile, const Body& body) {
  const Grid<1, 1> grid{{count}, {std::max<size_t>(tile, 1)}};
  parallel(pool, grid, [&](Pool::Share&, size_t begin, size_t size) { body(begin, begin + size); });
}

// The same over rows of `row` elements each.
template <typename Body>
void parallel_rows(Pool* pool, size_t rows, size_t row, const Body& body) {
  parallel_for(pool, rows, kGrain / std::max<size_t>(row, 1), body);
}

}  // namespace ferry::cpu
