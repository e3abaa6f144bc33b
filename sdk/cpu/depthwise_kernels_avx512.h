// The kernels of depthwise convolutions on AVX-512: a tile of a few pixels of some output rows, a vector of channels.
// For depthwise_avx512.cc alone.
#pragma once

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace ferry::cpu::depthwise {

constexpr size_t kLanes = 16;     // channels
constexpr size_t kPixels = 8;     // at most: 16 registers add up two rows, 8 hold the input's pixels, 2 the weights
constexpr size_t kFewPixels = 4;  // fewer do not pay for code of their own

// Distances are in numbers.
struct Tile {
  const float* x;           // the first line that is read, at the first pixel's first column
  size_t line, cell;        // from line to line, from column to column
  size_t stride_w;          // columns from pixel to pixel
  const __mmask16* inside;  // for masked kernels: of each column the lanes to be read, the others are zeros
  int64_t lines;            // from x's to the picture's end
  int64_t top, stride_h;    // the line where the first row's kernel begins, 0 or above the picture; and from row to row
  int64_t kernel_h, kernel_w;
  const float* weights;  // the bias, then those of each cell of the kernel
  bool clamps;
  float low, high;
  float* y;
  size_t y_row, y_step;
  int64_t rows;
  __mmask16 lanes;  // that are channels
  // What the next tile is the first to read, and where it writes; may be outside of the arrays. Distances in bytes.
  uintptr_t next_x, next_y;
  size_t next_x_line, next_y_row, next_step;
};

// Adds K columns of a line to the sums of output rows [kFirst, kEnd). What a column reads is, but for one pixel, what
// the column before has left in registers: a load takes the time of half a multiply-add.
template <size_t K, bool kMasked, size_t kFirst, size_t kEnd, size_t P>
[[gnu::target("avx512f"), gnu::always_inline]] inline void add_columns(const float* x, size_t step,
                                                                       const __mmask16* inside, size_t inside_step,
                                                                       const float* const (&weights)[2],
                                                                       __m512 (&sum)[2][P]) {
  __m512 values[P];
#pragma GCC unroll 9
  for (size_t k = 0; k < K; ++k) {  // pixel i is in values[(k + i) % P]
#pragma GCC unroll 8
    for (size_t i = k == 0 ? 0 : P - 1; i < P; ++i) {
      if ((k + i) % 3 == 0 && k + i != 0) x += 3 * step;
      asm("" : "+r"(x));  // gcc would keep a register for each distance
      const float* at = x + (k + i) % 3 * step;
      __m512 value = kMasked ? _mm512_maskz_loadu_ps(inside[(k + i) * inside_step], at) : _mm512_loadu_ps(at);
      asm("" : "+v"(value));  // and load it for each multiply-add
      values[(k + i) % P] = value;
    }
#pragma GCC unroll 2
    for (size_t r = kFirst; r < kEnd; ++r) {
      const __m512 weight = _mm512_load_ps(weights[r] + k * kLanes);
#pragma GCC unroll 8
      for (size_t i = 0; i < P; ++i) sum[r][i] = _mm512_fmadd_ps(values[(k + i) % P], weight, sum[r][i]);
    }
  }
}

// Adds lines [begin, end) to the sums of output rows [kFirst, kEnd). `top`: where the first row's kernel begins.
template <size_t K, bool kMasked, size_t kFirst, size_t kEnd, size_t P>
[[gnu::target("avx512f"), gnu::always_inline]] inline void add(const Tile& tile, int64_t top, int64_t begin,
                                                               int64_t end, __m512 (&sum)[2][P]) {
  const size_t line = tile.line, cell = tile.cell, stride = K == 1 ? tile.stride_w : 1;
  const int64_t kernel_w = K == 1 ? tile.kernel_w : static_cast<int64_t>(K);
  const float *x = tile.x + begin * static_cast<int64_t>(line), *weights[2] = {};
  for (size_t r = kFirst; r < kEnd; ++r) {
    const int64_t row = begin - top - static_cast<int64_t>(r) * tile.stride_h;
    weights[r] = tile.weights + (1 + row * kernel_w) * static_cast<int64_t>(kLanes);
  }
  for (int64_t i = begin; i < end; ++i, x += line)
    for (int64_t column = 0; column < kernel_w; column += static_cast<int64_t>(K)) {
      add_columns<K, kMasked, kFirst, kEnd>(x + static_cast<size_t>(column) * cell, stride * cell, tile.inside + column,
                                            stride, weights, sum);
      for (size_t r = kFirst; r < kEnd; ++r) weights[r] += K * kLanes;
    }
}

// The same vector of some pixels, to be read (0) or written (1).
template <size_t kCount, int kWrite>
inline void prefetch(uintptr_t from, size_t step) {
  for (size_t i = 0; i < kCount; ++i) __builtin_prefetch(reinterpret_cast<const void*>(from + i * step), kWrite);
}

// Two rows at a time: what both read is loaded once.
template <size_t K, bool kMasked, size_t P>
[[gnu::target("avx512f")]] void compute(const Tile& tile) {
  constexpr __mmask16 kAll = 0xffff;  // gcc 12 warns of the forms without a mask
  for (int64_t row = 0; row < tile.rows; row += 2) {
    for (int64_t i = row; i < row + 2; ++i)
      prefetch<P, 1>(tile.next_y + static_cast<size_t>(i) * tile.next_y_row, tile.next_step);
    for (int64_t i = row * tile.stride_h; i < (row + 2) * tile.stride_h; ++i)
      prefetch<P, 0>(tile.next_x + static_cast<size_t>(i) * tile.next_x_line, tile.next_step);

    const bool alone = row + 1 == tile.rows;
    const int64_t top = tile.top + row * tile.stride_h, second_top = top + tile.stride_h;
    const int64_t begin = std::max<int64_t>(top, 0), end = std::min(top + tile.kernel_h, tile.lines);
    const int64_t second_begin = alone ? end : std::max<int64_t>(second_top, 0);
    const int64_t second_end = alone ? end : std::min(second_top + tile.kernel_h, tile.lines);
    __m512 sum[2][P];
    for (size_t r = 0; r < 2; ++r)
#pragma GCC unroll 8
      for (size_t i = 0; i < P; ++i) sum[r][i] = _mm512_load_ps(tile.weights);
    add<K, kMasked, 0, 1>(tile, top, begin, std::min(end, second_begin), sum);
    add<K, kMasked, 0, 2>(tile, top, second_begin, end, sum);
    add<K, kMasked, 1, 2>(tile, top, std::max(end, second_begin), second_end, sum);

    if (tile.clamps) {
      const __m512 minimum = _mm512_set1_ps(tile.low), maximum = _mm512_set1_ps(tile.high);
      for (size_t r = 0; r < 2; ++r)
#pragma GCC unroll 8
        for (size_t i = 0; i < P; ++i)  // a NaN passes
          sum[r][i] = _mm512_maskz_min_ps(kAll, maximum, _mm512_maskz_max_ps(kAll, minimum, sum[r][i]));
    }
    float* const y = tile.y + static_cast<size_t>(row) * tile.y_row;
    const size_t second = alone ? 0 : tile.y_row, y_step = tile.y_step;
    const __mmask16 lanes = tile.lanes;
#pragma GCC unroll 8
    for (size_t i = 0; i < P; ++i) _mm512_mask_storeu_ps(y + second + i * y_step, lanes, sum[1][i]);
#pragma GCC unroll 8
    for (size_t i = 0; i < P; ++i) _mm512_mask_storeu_ps(y + i * y_step, lanes, sum[0][i]);  // over no second row's
  }
}

using Compute = void (*)(const Tile&);

// By the count of pixels, less 1. K: the kernel's width, with stride 1, or 1 for any width and stride.
template <size_t K, bool kMasked>
constexpr auto kCompute = []<size_t... I>(std::index_sequence<I...>) {
  return std::array<Compute, sizeof...(I)>{compute<(I + 1 < kFewPixels ? 1 : K), kMasked, I + 1>...};
}
(std::make_index_sequence<kPixels>());

}  // namespace ferry::cpu::depthwise
