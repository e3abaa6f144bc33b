// What our own kernels share: a loop over a thread pool, and a choice of vector instructions at run time.
#pragma once

#include "sdk/threads/loops.h"

#include <algorithm>
#include <cstddef>

// Compiles a kernel for AVX-512 and for AVX2 with FMA beside the baseline; the loader picks one. Elsewhere the baseline
// has vectors. Only in files that are compiled for speed: cmake/sdk.cmake lists them. ThreadSanitizer has not begun
// when the loader picks.
#if !FERRY_HOT
#elif defined(__x86_64__) && defined(__gnu_linux__) && !defined(__ANDROID__) && !defined(__clang__) && \
    !defined(__SANITIZE_THREAD__)
#define FERRY_KERNEL __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define FERRY_KERNEL
#endif

// Before a loop: its iterations are independent, though an output may be an input (element for element).
#if defined(__clang__)
#define FERRY_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define FERRY_INDEPENDENT _Pragma("GCC ivdep")
#endif

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
