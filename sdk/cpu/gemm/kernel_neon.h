// The tile of a matrix product on arm64, for gemm_op.h. In-order cores can dual-issue 64-bit loads with multiply-adds,
// as XNNPACK's kernels for them do. That takes four times as many loads; beyond small products these cores are bound by
// memory, which these tiles and plan_gemm() access less.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "sdk/cpu/backend/features.h"
#include "sdk/cpu/elementwise/float16.h"
#include "sdk/cpu/elementwise/unary.h"
#include "sdk/cpu/gemm/gemm.h"
#include "sdk/cpu/gemm/tile_neon.h"
#include "sdk/cpu/gemm/tile_neon_fp16.h"

namespace ferry::cpu::tile {

// kFloat16s: whether float16 kernels are built in.
template <bool kFloat16s>
class Neon {
 public:
  using Unit = std::byte;
  using Tile = TileOf<Unit>;
  static constexpr size_t kColumns = 16, kNarrow = 8;
  static constexpr size_t kPanelsAtOnce = SIZE_MAX;
  static constexpr size_t kPanelBytes = 24 << 10;  // bytes of panels that stay in the L1 cache while rows pass
  static constexpr bool kFetches = false, kAdds = true;
  static constexpr int64_t kReadsInPlace = 1;    // minimum pixels of a row to read windows in place
  static constexpr uint32_t kLayoutVersion = 2;  // of packed weights

  explicit Neon(const Gemm& gemm) : float16_(gemm.float16) {}

  bool float16() const { return kFloat16s && float16_; }
  size_t rows() const { return float16() ? kRowsOfFloat16 : kRows; }
  size_t depth() const { return kDepthBytes / element_bytes(); }  // KC
  size_t element_bytes() const { return float16() ? sizeof(Float16) : sizeof(float); }
  template <typename Count>
  Count units(Count elements) const {
    return elements << (float16() ? 1 : 2);
  }
  const char* layout() const { return float16() ? "gemm_neon_half" : "gemm_neon"; }
  // XNNPACK computes small float32 products and those of few outputs; its float16 kernels are no good.
  size_t min_rows() const { return float16() ? 1 : 2 * kRows; }
  size_t min_outputs() const { return float16() ? 1 : kNarrow; }
  bool runs_here(const CpuFeatures& cpu) const { return float16() ? cpu.float16 : cpu.out_of_order || cpu.in_order; }
  size_t added_up(size_t rows_of_op) const { return rows_of_op == 1 ? kFloat16sOfOneRow : kFloat16sAddedUp; }
  // Whether rounding depends on which products are computed together.
  bool adds_by_blocks() const { return float16(); }

  void put(Unit* to, size_t index, float value) const {
    if (float16())
      float16s(to)[index] = static_cast<Float16>(value);
    else
      floats(to)[index] = value;
  }
  void apply(const Elementwise& function, Unit* y, size_t stride, size_t rows, size_t columns) const {
    for (; rows > 0; --rows, y += units(stride))
      float16() ? function(float16s(y), float16s(y), columns) : function(floats(y), floats(y), columns);
  }

  // `rows`: any number; `width`: columns of the packed weights, kColumns or kNarrow.
  void multiply(const Tile& tile, size_t rows, size_t width) const {
    if constexpr (kFloat16s)
      if (float16_) return multiply_float16s(tile, rows, width);
    const Compute* const kernels = width > kNarrow ? kCompute<4> : kCompute<2>;
    for_whole_columns<kRows * kColumns * sizeof(float), kColumns>(
        tile, rows, width, kRows, sizeof(float),
        [&](const Tile& some, size_t height) { kernels[std::min(height, kRows) - 1](some); });
  }

  // Copies `rows` rows of `count` elements.
  void copy(const Unit* from, size_t from_step, size_t rows, size_t count, Unit* to, size_t to_step) const {
    for (; rows > 0; --rows, from += units(from_step), to += units(to_step)) copy_row(from, units(count), to);
  }

 private:
  static constexpr size_t kRows = 4;
  static constexpr size_t kDepthBytes = 1536;  // the L1 cache holds them for a tile

  using Compute = void (*)(const Tile&);
  // Computes blocks of R rows with all V * kLanes columns.
  template <size_t R, size_t V>
  static void compute(const Tile& tile) {
    constexpr float kNone = std::numeric_limits<float>::infinity();
    const float *x_row = floats(tile.x), *start_row = floats(tile.start);
    float* y_row = floats(tile.y);
    const Iterations iterations(tile.inputs);
    const size_t start_stride = tile.start_stride, x_stride = tile.x_stride, panels = tile.panels;
    // Elements to skip: from the end of a part to the next part, from a row to the end of its last part, and after the
    // weights of a panel.
    const size_t part_skip = tile.part_step - tile.inputs, row_skip = tile.parts * tile.part_step;
    const size_t panel_skip = tile.panel_size - tile.parts * tile.inputs * V * kLanes;
    size_t y_stride = tile.y_stride * sizeof(float);
    asm("" : "+r"(y_stride));  // otherwise gcc multiplies for each panel
    const uintptr_t added = tile.added;
    const Vector minimum = repeat(tile.low), maximum = repeat(tile.high);
    size_t has_minimum = tile.low > -kNone, has_maximum = tile.high < kNone;
    asm("" : "+r"(has_minimum), "+r"(has_maximum));  // otherwise gcc compares for each panel
    for (size_t block = tile.blocks; block > 0; --block) {
      const float *start = start_row, *b = floats(tile.weights), *const x_end = x_row + row_skip;
      float* y = y_row;
      size_t panel = panels;
      do {
        Vector sum[R][V];
        const float* from = start;
#pragma GCC unroll 4
        for (size_t i = 0; i < R; ++i, from += start_stride) {
          asm("" : "+r"(from));  // otherwise gcc uses two-register addresses instead of load pairs
#pragma GCC unroll 4
          for (size_t j = 0; j < V; ++j) sum[i][j] = load(from + kLanes * j);
        }
        const float* part = x_row;
        do {
          const float* rows[R];
#pragma GCC unroll 4
          for (size_t i = 0; i < R; ++i) rows[i] = part + i * x_stride;
          add_products<true>(rows, iterations, b, V * kLanes, sum);
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
        b += panel_skip;
        y += V * kLanes;
      } while (--panel > 0);
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

  static void copy_row(const Unit* from, size_t bytes, Unit* to) {
    constexpr size_t kVector = sizeof(uint8x16_t);
    const auto* x = reinterpret_cast<const uint8_t*>(from);
    auto* y = reinterpret_cast<uint8_t*>(to);
    size_t i = 0;
    for (; i + 2 * kVector <= bytes; i += 2 * kVector) {
      const uint8x16_t first = vld1q_u8(x + i), second = vld1q_u8(x + i + kVector);
      vst1q_u8(y + i, first);
      vst1q_u8(y + i + kVector, second);
    }
    if (i + kVector <= bytes) {
      vst1q_u8(y + i, vld1q_u8(x + i));
      i += kVector;
    }
    if (i == bytes) return;
    // overlaps the vector before
    if (bytes >= kVector) return vst1q_u8(y + bytes - kVector, vld1q_u8(x + bytes - kVector));
    for (; i < bytes; i += sizeof(Float16)) std::memcpy(y + i, x + i, sizeof(Float16));
  }

  const bool float16_;
};

}  // namespace ferry::cpu::tile
