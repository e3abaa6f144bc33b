// The tile of a matrix product on arm64, for gemm.cc. For cores that execute out of order: the others gain by loads of
// 64 bits, which XNNPACK's kernels for them have.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "sdk/cpu/features.h"
#include "sdk/cpu/gemm_tile.h"
#include "sdk/cpu/tile_neon.h"

namespace ferry::cpu::tile {

constexpr size_t kRows = 6, kColumns = 4 * kLanes, kNarrow = 2 * kLanes;
constexpr size_t kDepth = 384;  // inputs that are multiplied at once: the L1 cache holds them for a tile
constexpr size_t kFewestOutputs = kNarrow;
constexpr size_t kSlabsAtOnce = SIZE_MAX;
constexpr bool kFetches = false;
constexpr const char* kLayout = "gemm_neon";  // of packed weights, and its version
constexpr uint32_t kLayoutVersion = 1;

inline bool runs_here(const CpuFeatures& cpu) { return cpu.out_of_order; }

// Tiles all of whose V * kLanes columns there are.
template <size_t R, size_t V>
void compute(const Tile& tile) {
  constexpr float kNone = std::numeric_limits<float>::infinity();
  const float *x[R], *start = tile.start, *weights = tile.weights;
  float* y = tile.y;
#pragma GCC unroll 6
  for (size_t i = 0; i < R; ++i) x[i] = tile.x + i * tile.x_stride;
  for (size_t slab = 0; slab < tile.slabs; ++slab) {
    size_t start_stride = tile.start_stride, y_stride = tile.y_stride;
    float low = tile.low, high = tile.high;
    // gcc would keep what it makes of these from slab to slab, in registers that the sums need.
    asm volatile("" : "+r"(start_stride), "+r"(y_stride), "+w"(low), "+w"(high));
    Vector sum[R][V];
    const float* from = start;
#pragma GCC unroll 6
    for (size_t i = 0; i < R; ++i, from += start_stride)
#pragma GCC unroll 4
      for (size_t j = 0; j < V; ++j) sum[i][j] = load(from + kLanes * j);
    add_products(x, tile.inputs, weights, V * kLanes, sum);
    if (low > -kNone || high < kNone) {
      const Vector minimum = repeat(low), maximum = repeat(high);
#pragma GCC unroll 6
      for (size_t i = 0; i < R; ++i)
#pragma GCC unroll 4
        for (size_t j = 0; j < V; ++j) sum[i][j] = clamp(sum[i][j], minimum, maximum);
    }
    float* row = y;
#pragma GCC unroll 6
    for (size_t i = 0; i < R; ++i, row += y_stride)
#pragma GCC unroll 4
      for (size_t j = 0; j < V; ++j) store(row + kLanes * j, sum[i][j]);
    start += tile.start_step;
    weights += tile.slab_size;
    y += V * kLanes;
  }
}

using Compute = void (*)(const Tile&);
template <size_t V>
constexpr Compute kCompute[] = {compute<1, V>, compute<4, V>, compute<5, V>, compute<6, V>};

// A tile of that many rows and as many columns as packed weights have there, kColumns or kNarrow.
inline void multiply(const Tile& tile, size_t rows, size_t width) {
  if (rows == 2 || rows == 3) {  // the rest of an odd few: not worth code of their own
    Tile row = tile;
    for (size_t i = 0; i < rows; ++i, row.x += tile.x_stride, row.start += tile.start_stride, row.y += tile.y_stride)
      multiply(row, 1, width);
    return;
  }
  const Compute compute = (width > kNarrow ? kCompute<4> : kCompute<2>)[rows == 1 ? 0 : rows - 3];
  if (tile.columns == width) return compute(tile);
  float start[kRows * kColumns], y[kRows * kColumns];  // y's last columns are another's
  Tile whole = tile;
  if (tile.start_stride != 0) {  // not the bias, which is as wide as the weights
    for (size_t i = 0; i < rows; ++i) {
      std::fill_n(start + i * kColumns, kColumns, 0.0f);
      std::copy_n(tile.start + i * tile.start_stride, tile.columns, start + i * kColumns);
    }
    whole.start = start;
    whole.start_stride = kColumns;
  }
  whole.y = y;
  whole.y_stride = kColumns;
  compute(whole);
  for (size_t i = 0; i < rows; ++i) std::copy_n(y + i * kColumns, tile.columns, tile.y + i * tile.y_stride);
}

inline void copy(const float* from, size_t count, float* to) {
  size_t i = 0;
  for (; i + 2 * kLanes <= count; i += 2 * kLanes) {
    const Vector first = load(from + i), second = load(from + i + kLanes);
    store(to + i, first);
    store(to + i + kLanes, second);
  }
  if (i + kLanes <= count) {
    store(to + i, load(from + i));
    i += kLanes;
  }
  if (i == count) return;
  if (count >= kLanes) return store(to + count - kLanes, load(from + count - kLanes));  // some of it once more
  for (; i < count; ++i) to[i] = from[i];
}

}  // namespace ferry::cpu::tile
