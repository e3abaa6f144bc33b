// The tile of a matrix product for AVX-512, for gemm_op.h: 12 rows, where XNNPACK's kernels compute 7 and wait for
// weights from the L2 cache.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "sdk/cpu/backend/features.h"
#include "sdk/cpu/elementwise/vector.h"
#include "sdk/cpu/gemm/kernel_floats.h"

namespace ferry::cpu::tile {

class Avx512 : public Floats {
 public:
  using Floats::Floats;
  static constexpr size_t kRows = 12, kColumns = 2 * kLanes, kNarrow = kLanes;  // 24 of the 32 registers accumulate
  static constexpr size_t kPanelsAtOnce = 1;
  static constexpr size_t kPanelBytes = 0;  // an NC block stays in the L2 cache instead
  static constexpr bool kFetches = true, kAdds = false;
  static constexpr int64_t kReadsInPlace = 4 * kRows;              // minimum pixels of a row to read windows in place
  static constexpr const char* layout() { return "gemm_avx512"; }  // of packed weights, and its version
  static constexpr uint32_t kLayoutVersion = 2;

  static constexpr size_t rows() { return kRows; }
  static constexpr size_t min_rows() { return 2 * kRows; }
  static constexpr size_t min_outputs() { return kLanes; }
  static bool runs_here(const CpuFeatures& cpu) { return cpu.avx512f; }

  // Computes `rows` rows; `width`: columns of the packed weights, kColumns or kNarrow.
  static void multiply(Tile& tile, size_t rows, size_t width) {
    multiply_alike(tile, rows, width > kNarrow ? kCompute<2> : kCompute<1>);
  }

  // Copies `rows` rows of `count` elements.
  FERRY_VECTORS static void copy(const float* from, size_t from_step, size_t rows, size_t count, float* to,
                                 size_t to_step) {
    const auto rest = static_cast<__mmask16>((1u << count % kLanes) - 1);
    for (; rows > 0; --rows, from += from_step, to += to_step) {
      size_t i = 0;
      for (; i + kLanes <= count; i += kLanes) _mm512_storeu_ps(to + i, _mm512_loadu_ps(from + i));
      _mm512_mask_storeu_ps(to + i, rest, _mm512_maskz_loadu_ps(rest, from + i));
    }
  }

 private:
  template <size_t R, size_t V>
  [[gnu::target("avx512f")]] static void compute(const Tile& tile) {
    constexpr __mmask16 kAll = 0xffff;  // gcc 12 warns of the forms without a mask
    __mmask16 mask[V];
#pragma GCC unroll 2
    for (size_t j = 0; j < V; ++j)
      mask[j] = static_cast<__mmask16>((1u << std::min(tile.columns - kLanes * j, kLanes)) - 1);
    const size_t stride = tile.x_stride, start_stride = tile.start_stride, y_stride = tile.y_stride;
    const __m512 minimum = _mm512_set1_ps(tile.low), maximum = _mm512_set1_ps(tile.high);
    const float *first = tile.x, *start = tile.start;
    float* y = tile.y;
    const char* next = tile.next;
    for (size_t block = tile.blocks; block > 0; --block) {
      __m512 sum[R][V], w[V];
#pragma GCC unroll 12
      for (size_t i = 0; i < R; ++i, start += start_stride) {
        asm("" : "+r"(start));  // otherwise gcc computes the addresses of all rows before the loop
        for (size_t j = 0; j < V; ++j) sum[i][j] = _mm512_maskz_loadu_ps(mask[j], start + kLanes * j);
      }
      const float* weights = tile.weights;
      // One address for three rows: otherwise gcc keeps more addresses than there are registers.
      constexpr size_t kBases = (R + 2) / 3;
      const float* x[kBases];
      size_t offset = 0;
      for (size_t part = tile.parts; part > 0; --part, offset += tile.part_step) {
#pragma GCC unroll 4
        for (size_t i = 0; i < kBases; ++i) x[i] = first + offset + 3 * i * stride;
        for (size_t k = tile.inputs; k > 0; --k, weights += V * kLanes, next += tile.next_step) {
          _mm_prefetch(next, _MM_HINT_T1);
          for (size_t j = 0; j < V; ++j) {
            _mm_prefetch(reinterpret_cast<const char*>(weights + (8 * V + j) * kLanes), _MM_HINT_T0);
            w[j] = _mm512_load_ps(weights + kLanes * j);
          }
#pragma GCC unroll 12
          for (size_t i = 0; i < R; ++i) {
            const __m512 value = _mm512_set1_ps(x[i / 3][i % 3 * stride]);
            for (size_t j = 0; j < V; ++j) sum[i][j] = _mm512_fmadd_ps(value, w[j], sum[i][j]);
          }
#pragma GCC unroll 4
          for (size_t i = 0; i < kBases; ++i) {
            ++x[i];
            asm volatile("" : "+r"(x[i]));
          }
        }
      }
#pragma GCC unroll 12
      for (size_t i = 0; i < R; ++i, y += y_stride) {
        asm("" : "+r"(y));
        for (size_t j = 0; j < V; ++j)  // NaN propagates
          _mm512_mask_storeu_ps(y + kLanes * j, mask[j],
                                _mm512_maskz_min_ps(kAll, maximum, _mm512_maskz_max_ps(kAll, minimum, sum[i][j])));
      }
      first += R * stride;
    }
  }

  template <size_t V>
  static constexpr auto kCompute = []<size_t... R>(std::index_sequence<R...>) {
    return std::array<Compute, sizeof...(R)>{compute<R + 1, V>...};
  }
  (std::make_index_sequence<kRows>());
};

}  // namespace ferry::cpu::tile
