// The tile of a matrix product for AVX2 and FMA, for gemm_op.h: 6 rows by 16 columns. 12 of the 16 registers
// accumulate, two hold weights and one a broadcast input.
#pragma once

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "sdk/cpu/backend/features.h"
#include "sdk/cpu/gemm/kernel_floats.h"

namespace ferry::cpu::tile {

class Avx2 : public Floats {
  static constexpr size_t kLanes = 8;

 public:
  using Floats::Floats;
  static constexpr size_t kRows = 6, kColumns = 2 * kLanes, kNarrow = kLanes;
  static constexpr size_t kPanelsAtOnce = 1;
  static constexpr size_t kPanelBytes = 0;  // an NC block stays in the L2 cache instead
  static constexpr bool kFetches = true, kAdds = false;
  static constexpr int64_t kReadsInPlace = 4 * kRows;            // minimum pixels of a row to read windows in place
  static constexpr const char* layout() { return "gemm_avx2"; }  // of packed weights, and its version
  static constexpr uint32_t kLayoutVersion = 1;

  static constexpr size_t rows() { return kRows; }
  static constexpr size_t min_rows() { return 2 * kRows; }
  static constexpr size_t min_outputs() { return kLanes; }
  static bool runs_here(const CpuFeatures& cpu) { return cpu.avx2; }

  // Computes `rows` rows; `width`: columns of the packed weights, kColumns or kNarrow.
  static void multiply(Tile& tile, size_t rows, size_t width) {
    multiply_alike(tile, rows, width > kNarrow ? kCompute<2> : kCompute<1>);
  }

  // Copies `rows` rows of `count` elements.
  [[gnu::target("avx2")]] static void copy(const float* from, size_t from_step, size_t rows, size_t count, float* to,
                                           size_t to_step) {
    const __m256i rest = lanes(count % kLanes);
    for (; rows > 0; --rows, from += from_step, to += to_step) {
      size_t i = 0;
      for (; i + kLanes <= count; i += kLanes) _mm256_storeu_ps(to + i, _mm256_loadu_ps(from + i));
      if (i < count) _mm256_maskstore_ps(to + i, rest, _mm256_maskload_ps(from + i, rest));
    }
  }

 private:
  // A mask of the first `count` lanes.
  [[gnu::target("avx2"), gnu::always_inline]] static inline __m256i lanes(size_t count) {
    const __m256i places = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(std::min(count, kLanes))), places);
  }

  template <size_t R, size_t V>
  [[gnu::target("avx2,fma")]] static void compute(const Tile& tile) {
    const bool whole = tile.columns >= V * kLanes;
    __m256i mask[V];
#pragma GCC unroll 2
    for (size_t j = 0; j < V; ++j) mask[j] = lanes(tile.columns - std::min(tile.columns, kLanes * j));
    const size_t stride = tile.x_stride, start_stride = tile.start_stride, y_stride = tile.y_stride;
    const __m256 minimum = _mm256_set1_ps(tile.low), maximum = _mm256_set1_ps(tile.high);
    const float *first = tile.x, *start = tile.start;
    float* y = tile.y;
    const char* next = tile.next;
    for (size_t block = tile.blocks; block > 0; --block) {
      __m256 sum[R][V], w[V];
#pragma GCC unroll 6
      for (size_t i = 0; i < R; ++i, start += start_stride) {
        asm("" : "+r"(start));  // otherwise gcc computes the addresses of all rows before the loop
#pragma GCC unroll 2
        for (size_t j = 0; j < V; ++j)
          sum[i][j] = whole ? _mm256_loadu_ps(start + kLanes * j) : _mm256_maskload_ps(start + kLanes * j, mask[j]);
      }
      const float* weights = tile.weights;
      // One address for three rows: otherwise gcc keeps more addresses than there are registers.
      constexpr size_t kBases = (R + 2) / 3;
      const float* x[kBases];
      size_t offset = 0;
      for (size_t part = tile.parts; part > 0; --part, offset += tile.part_step) {
#pragma GCC unroll 2
        for (size_t i = 0; i < kBases; ++i) x[i] = first + offset + 3 * i * stride;
        for (size_t k = tile.inputs; k > 0; --k, weights += V * kLanes, next += tile.next_step) {
          _mm_prefetch(next, _MM_HINT_T1);
          _mm_prefetch(reinterpret_cast<const char*>(weights + 8 * V * kLanes), _MM_HINT_T0);
#pragma GCC unroll 2
          for (size_t j = 0; j < V; ++j) w[j] = _mm256_load_ps(weights + kLanes * j);
#pragma GCC unroll 6
          for (size_t i = 0; i < R; ++i) {
            const __m256 value = _mm256_broadcast_ss(x[i / 3] + i % 3 * stride);
#pragma GCC unroll 2
            for (size_t j = 0; j < V; ++j) sum[i][j] = _mm256_fmadd_ps(value, w[j], sum[i][j]);
          }
#pragma GCC unroll 2
          for (size_t i = 0; i < kBases; ++i) {
            ++x[i];
            asm volatile("" : "+r"(x[i]));
          }
        }
      }
#pragma GCC unroll 6
      for (size_t i = 0; i < R; ++i, y += y_stride) {
        asm("" : "+r"(y));
#pragma GCC unroll 2
        for (size_t j = 0; j < V; ++j) {  // NaN propagates
          const __m256 value = _mm256_min_ps(maximum, _mm256_max_ps(minimum, sum[i][j]));
          if (whole)
            _mm256_storeu_ps(y + kLanes * j, value);
          else
            _mm256_maskstore_ps(y + kLanes * j, mask[j], value);
        }
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
