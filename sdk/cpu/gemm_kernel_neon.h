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

constexpr size_t kRows = 4, kColumns = 4 * kLanes, kNarrow = 2 * kLanes;
constexpr size_t kDepth = 384;  // inputs that are multiplied at once: the L1 cache holds them for a tile
constexpr size_t kFewestOutputs = kNarrow;
constexpr size_t kSlabsAtOnce = SIZE_MAX;
constexpr bool kFetches = false, kReadsInPlace = true;
constexpr const char* kLayout = "gemm_neon";  // of packed weights, and its version
constexpr uint32_t kLayoutVersion = 1;

inline bool runs_here(const CpuFeatures& cpu) { return cpu.out_of_order; }

// Tiles all of whose V * kLanes columns there are.
template <size_t R, size_t V>
void compute(const Tile& tile) {
  constexpr float kNone = std::numeric_limits<float>::infinity();
  const float *x[R], *start = tile.start, *weights = tile.weights;
  float* y = tile.y;
#pragma GCC unroll 4
  for (size_t i = 0; i < R; ++i) x[i] = tile.x + i * tile.x_stride;
  const size_t inputs = tile.inputs, start_stride = tile.start_stride, y_stride = tile.y_stride;
  const size_t parts = tile.parts, part_step = tile.part_step;
  const Vector minimum = repeat(tile.low), maximum = repeat(tile.high);
  size_t has_minimum = tile.low > -kNone, has_maximum = tile.high < kNone;
  asm("" : "+r"(has_minimum), "+r"(has_maximum));  // gcc would compare for each slab
  for (size_t slab = tile.slabs; slab > 0; --slab) {
    Vector sum[R][V];
    const float* from = start;
#pragma GCC unroll 4
    for (size_t i = 0; i < R; ++i, from += start_stride) {
      asm("" : "+r"(from));  // gcc would address by two registers, and not by pairs
#pragma GCC unroll 4
      for (size_t j = 0; j < V; ++j) sum[i][j] = load(from + kLanes * j);
    }
    const float* b = weights;
    for (size_t part = 0, offset = 0; part < parts; ++part, offset += part_step) {
      const float* rows[R];
#pragma GCC unroll 4
      for (size_t i = 0; i < R; ++i) rows[i] = x[i] + offset;
      add_products(rows, inputs, b, V * kLanes, sum);
    }
    if (has_minimum) {
#pragma GCC unroll 4
      for (size_t i = 0; i < R; ++i)
#pragma GCC unroll 4
        for (size_t j = 0; j < V; ++j) sum[i][j] = vmaxq_f32(sum[i][j], minimum);
    }
    if (has_maximum) {
#pragma GCC unroll 4
      for (size_t i = 0; i < R; ++i)
#pragma GCC unroll 4
        for (size_t j = 0; j < V; ++j) sum[i][j] = vminq_f32(sum[i][j], maximum);
    }
    float* row = y;
#pragma GCC unroll 4
    for (size_t i = 0; i < R; ++i, row += y_stride) {
      asm("" : "+r"(row));
#pragma GCC unroll 4
      for (size_t j = 0; j < V; ++j) store(row + kLanes * j, sum[i][j]);
    }
    start += tile.start_step;
    weights += tile.slab_size;
    y += V * kLanes;
  }
}

using Compute = void (*)(const Tile&);
template <size_t V>
constexpr Compute kCompute[] = {compute<1, V>, compute<2, V>, compute<3, V>, compute<4, V>};

// A tile of that many rows and as many columns as packed weights have there, kColumns or kNarrow.
inline void multiply(const Tile& tile, size_t rows, size_t width) {
  const Compute compute = (width > kNarrow ? kCompute<4> : kCompute<2>)[rows - 1];
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
