// A parallel loop over a thread pool, for our own kernels.
#pragma once

#include "sdk/kernel.h"
#include "sdk/threads/loops.h"

#include <algorithm>
#include <cstddef>

namespace ferry::cpu {

// Elements per task, so that the cost of scheduling a task is small.
inline constexpr size_t kGrain = 8192;

// body(begin, end) over [0, count) in ranges of `tile`. The ranges are the same for every pool, so results do not
// depend on the number of threads.
template <typename Body>
void parallel_for(Pool* pool, size_t count, size_t tile, const Body& body) {
  const Grid<1, 1> grid{{count}, {std::max<size_t>(tile, 1)}};
  parallel(pool, grid, [&](Pool::Share&, size_t begin, size_t size) { body(begin, begin + size); });
}

// The same over rows of `row` elements.
template <typename Body>
void parallel_rows(Pool* pool, size_t rows, size_t row, const Body& body) {
  parallel_for(pool, rows, kGrain / std::max<size_t>(row, 1), body);
}

}  // namespace ferry::cpu
