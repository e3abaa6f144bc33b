// The tile of a matrix product on arm64, for gemm_op.h. Cores that execute in order would start loads of 64 bits
// together with multiply-adds, as XNNPACK's kernels for them have it; but these are four times as many, and beyond
// small products such cores wait for memory, of which these tiles and plan_gemm() ask less.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "sdk/cpu/features.h"
#include "sdk/cpu/gemm_tile.h"
#include "sdk/cpu/tile_neon.h"

namespace ferry::cpu::tile {

class Neon {
 public:
  using Number = float;
  static constexpr size_t kRows = 4, kColumns = 4 * kLanes, kNarrow = 2 * kLanes;
  static constexpr size_t kDepth = 384;  // inputs that are multiplied at once: the L1 cache holds them for a tile
  static constexpr size_t kFewestRows = 2 * kRows, kFewestOutputs = kNarrow;
  static constexpr size_t kSlabsAtOnce = SIZE_MAX, kRowsAtOnce = SIZE_MAX;
  static constexpr size_t kSlabBytes = 24 << 10;  // of slabs that stay in the L1 cache while rows pass
  static constexpr bool kFetches = false, kAdds = true;
  static constexpr int64_t kReadsInPlace = 1;          // pixels of a row, from which on windows are not copied
  static constexpr const char* kLayout = "gemm_neon";  // of packed weights, and its version
  static constexpr uint32_t kLayoutVersion = 2;

  static bool runs_here(const CpuFeatures& cpu) { return cpu.out_of_order || cpu.in_order; }

  // As many rows as there are, and as many columns as packed weights have there, kColumns or kNarrow.
  static void multiply(const Tile& tile, size_t rows, size_t width) {
    const Compute* const kernels = width > kNarrow ? kCompute<4> : kCompute<2>;
    for_whole_columns<kRows, kColumns>(
        tile, rows, width, [&](const Tile& some, size_t height) { kernels[std::min(height, kRows) - 1](some); });
  }

  // `rows` times `count` numbers.
  static void copy(const float* from, size_t from_step, size_t rows, size_t count, float* to, size_t to_step) {
    for (; rows > 0; --rows, from += from_step, to += to_step) copy_row(from, count, to);
  }

 private:
  using Compute = void (*)(const Tile&);
  // Blocks of R rows all of whose V * kLanes columns there are.
  template <size_t R, size_t V>
  static void compute(const Tile& tile) {
    constexpr float kNone = std::numeric_limits<float>::infinity();
    const float *x_row = tile.x, *start_row = tile.start;
    float* y_row = tile.y;
    const Turns turns(tile.inputs);
    const size_t start_stride = tile.start_stride, x_stride = tile.x_stride, slabs = tile.slabs;
    // From where a part ends to the next, from a row to its last part's end, and the same of a slab's weights.
    const size_t part_skip = tile.part_step - tile.inputs, row_skip = tile.parts * tile.part_step;
    const size_t slab_skip = tile.slab_size - tile.parts * tile.inputs * V * kLanes;
    size_t y_stride = tile.y_stride * sizeof(float);
    asm("" : "+r"(y_stride));  // gcc would multiply for each slab
    const uintptr_t added = tile.added;
    const Vector minimum = repeat(tile.low), maximum = repeat(tile.high);
    size_t has_minimum = tile.low > -kNone, has_maximum = tile.high < kNone;
    asm("" : "+r"(has_minimum), "+r"(has_maximum));  // gcc would compare for each slab
    for (size_t block = tile.blocks; block > 0; --block) {
      const float *start = start_row, *b = tile.weights, *const x_end = x_row + row_skip;
      float* y = y_row;
      size_t slab = slabs;
      do {
        Vector sum[R][V];
        const float* from = start;
#pragma GCC unroll 4
        for (size_t i = 0; i < R; ++i, from += start_stride) {
          asm("" : "+r"(from));  // gcc would address by two registers, and not by pairs
#pragma GCC unroll 4
          for (size_t j = 0; j < V; ++j) sum[i][j] = load(from + kLanes * j);
        }
        const float* part = x_row;
        do {
          const float* rows[R];
#pragma GCC unroll 4
          for (size_t i = 0; i < R; ++i) rows[i] = part + i * x_stride;
          add_products<true>(rows, turns, b, V * kLanes, sum);
          part = rows[0] + part_skip;
        } while (part != x_end);
        if (added != 0) {
          from = behind(y, added);
#pragma GCC unroll 4
          for (size_t i = 0; i < R; ++i, from = behind(from, y_stride)) {
            asm("" : "+r"(from));
#pragma GCC unroll 4
            for (size_t j = 0; j < V; ++j) sum[i][j] += load(from + kLanes * j);
          }
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
        for (size_t i = 0; i < R; ++i, row = behind(row, y_stride)) {
          asm("" : "+r"(row));
#pragma GCC unroll 4
          for (size_t j = 0; j < V; ++j) store(row + kLanes * j, sum[i][j]);
        }
        start += V * kLanes;
        b += slab_skip;
        y += V * kLanes;
      } while (--slab > 0);
      x_row += R * x_stride;
      start_row += R * start_stride;
      y_row = behind(y_row, R * y_stride);
    }
  }

  template <typename T>
  static T* behind(T* from, size_t bytes) {
    return reinterpret_cast<T*>(reinterpret_cast<uintptr_t>(from) + bytes);
  }

  template <size_t V>
  static constexpr Compute kCompute[kRows] = {compute<1, V>, compute<2, V>, compute<3, V>, compute<4, V>};

  static void copy_row(const float* from, size_t count, float* to) {
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
};

}  // namespace ferry::cpu::tile
