// Kernels of depthwise convolutions: a tile of a few pixels of some output rows by one or more vectors of channels. For
// depthwise_op.h only.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "sdk/cpu/elementwise/vector.h"

namespace ferry::cpu::FERRY_VECTOR_SPACE::depthwise {

constexpr bool kFloat16s = sizeof(Lane) < sizeof(float);
// Maximum pixels per kernel call. Of 32 registers, 16 accumulate two rows, 8 hold input pixels and 2 hold weights; AVX2
// has 16. float16 has kernels for 7 pixels only.
constexpr size_t kMaxPixels = kFloat16s ? 7 : kRegisters / 4;
constexpr int64_t kMaxStride = 2, kMaxKernelH = 16, kMaxKernelW = 32;  // limits of the kernels
constexpr bool kVectorFillsLine =
    kLanes * sizeof(Lane) == 64;  // of the cache; otherwise the next vectors are mostly in it

// Distances are in elements.
struct Tile {
  const Lane* x;          // the first line that is read, at the first column of the first pixel
  size_t line, cell;      // from line to line, from column to column
  size_t stride_w;        // columns from pixel to pixel
  const Lanes* inside;    // masked kernels: the lanes to read of each column; others read as zero
  int64_t lines;          // from x to the end of the image
  int64_t top, stride_h;  // the line where the first row's kernel begins (<= 0), and the step from row to row
  int64_t kernel_h, kernel_w;
  size_t vectors;       // of channels, contiguous in x, y and weights
  const Lane* weights;  // per vector: the bias, then the weights of each cell of the kernel
  bool clamps;
  Lane low, high;
  Lane* y;
  size_t y_row, y_step;
  int64_t rows;
  Lanes lanes;  // lanes that hold channels
  // Input that the next tile reads first, to prefetch; may lie outside of the array. Distances in bytes. Outputs are
  // not prefetched: threads would compete for the cache lines at the borders of their strips.
  uintptr_t next_x;
  size_t next_x_line, next_step;
};

// Adds K columns of a line to the sums of output rows [kFirst, kEnd). A column reuses the registers of the column
// kStride before it, except for one pixel, since a load costs half a multiply-add. `step`: elements from pixel to
// pixel; `inside_step`: entries of `inside` from pixel to pixel.
template <size_t K, size_t kStride, bool kMasked, size_t kFirst, size_t kEnd, size_t P>
FERRY_VECTORS [[gnu::always_inline]] inline void add_columns(const Lane* x, size_t cell, size_t step,
                                                             const Lanes* inside, size_t inside_step,
                                                             const Lane* const (&weights)[2], Vector (&sum)[2][P]) {
#pragma GCC unroll 2
  for (size_t start = 0; start < kStride; ++start, x += cell) {
    const Lane* from = x;
    Vector values[P];
#pragma GCC unroll 9
    for (size_t k = 0; k < (K - start + kStride - 1) / kStride; ++k) {  // pixel i is in values[(k + i) % P]
#pragma GCC unroll 8
      for (size_t i = k == 0 ? 0 : P - 1; i < P; ++i) {
        Vector value = next<kMasked>(from, step, k + i, kMasked ? inside[start + (k + i) * inside_step] : kAllLanes);
        FERRY_IN_VECTOR_REGISTER(value);  // otherwise gcc loads it for each multiply-add
        values[(k + i) % P] = value;
      }
#pragma GCC unroll 2
      for (size_t r = kFirst; r < kEnd; ++r) {
        const Vector weight = load(weights[r] + (start + k * kStride) * kLanes);
#pragma GCC unroll 8
        for (size_t i = 0; i < P; ++i) sum[r][i] = multiply_add(values[(k + i) % P], weight, sum[r][i]);
      }
    }
  }
}

// Adds `count` lines from x to the sums of output rows [kFirst, kEnd). Advances the weights.
template <size_t K, size_t kStride, bool kMasked, size_t kFirst, size_t kEnd, size_t P>
FERRY_VECTORS [[gnu::always_inline]] inline void add(const Tile& tile, const Lane*& x, int64_t count, size_t line,
                                                     size_t cell, const Lane* (&weights)[2], Vector (&sum)[2][P]) {
  const size_t stride = K == 1 ? tile.stride_w : kStride;
  const int64_t columns = K == 1 ? tile.kernel_w : 1;
  if (count > 0) do {
      const Lane* column = x;
      for (int64_t i = 0; i < columns; ++i, column += cell) {
        add_columns<K, kStride, kMasked, kFirst, kEnd>(column, cell, stride * cell, tile.inside + i, stride, weights,
                                                       sum);
#pragma GCC unroll 2
        for (size_t r = kFirst; r < kEnd; ++r) {
          weights[r] += K * kLanes;
          asm("" : "+r"(weights[r]));
        }
      }
      x += line;
      asm("" : "+r"(x));  // otherwise gcc computes the end before the loop
    } while (--count > 0);
}

// Prefetches the same vector of kCount pixels.
template <size_t kCount>
inline void prefetch(uintptr_t from, size_t step) {
  for (size_t i = 0; i < kCount; ++i) __builtin_prefetch(reinterpret_cast<const void*>(from + i * step));
}

// Computes two rows at a time, so that shared inputs are loaded once.
template <size_t K, size_t kStride, bool kMasked, size_t P>
FERRY_VECTORS void compute(const Tile& tile) {
  // otherwise gcc reads these again for each pair of rows
  const size_t line = tile.line, cell = tile.cell, y_row = tile.y_row, y_step = tile.y_step;
  const int64_t rows = tile.rows, stride_h = tile.stride_h, kernel_h = tile.kernel_h, lines = tile.lines;
  const int64_t row_weights = (K == 1 ? tile.kernel_w : static_cast<int64_t>(K)) * static_cast<int64_t>(kLanes);
  const int64_t vector_weights = kernel_h * row_weights + static_cast<int64_t>(kLanes);
  const Vector minimum = repeat(tile.low), maximum = repeat(tile.high);
  const Lanes lanes = tile.lanes;
  Lane* y = tile.y;
  int64_t top = tile.top;
  for (int64_t row = 0; row < rows; row += 2, y += 2 * y_row, top += 2 * stride_h) {
    const bool alone = row + 1 == rows;
    const int64_t second_top = top + stride_h;
    const int64_t begin = std::max<int64_t>(top, 0), end = std::min(top + kernel_h, lines);
    const int64_t second_begin = alone ? end : std::max<int64_t>(second_top, 0);
    const int64_t second_end = alone ? end : std::min(second_top + kernel_h, lines);
    const Lane *from = tile.x + begin * static_cast<int64_t>(line), *bias = tile.weights;
    Lane* to = y;
    uintptr_t next_x = tile.next_x;
    for (size_t vector = tile.vectors; vector > 0; --vector, from += kLanes, bias += vector_weights, to += kLanes) {
      if constexpr (kVectorFillsLine) {
        const int64_t last = std::min(row + 2, rows);
        for (int64_t i = row * stride_h; i < last * stride_h; ++i)
          prefetch<P>(next_x + static_cast<size_t>(i) * tile.next_x_line, tile.next_step);
        next_x += kLanes * sizeof(Lane);
      }
      Vector sum[2][P];
#pragma GCC unroll 2
      for (size_t r = 0; r < 2; ++r)
#pragma GCC unroll 8
        for (size_t i = 0; i < P; ++i) sum[r][i] = load(bias);
      const Lane* weights[2] = {bias + kLanes + (begin - top) * row_weights,
                                bias + kLanes + (second_begin - second_top) * row_weights};
      const Lane* x = from;
      add<K, kStride, kMasked, 0, 1>(tile, x, std::min(end, second_begin) - begin, line, cell, weights, sum);
      add<K, kStride, kMasked, 0, 2>(tile, x, end - second_begin, line, cell, weights, sum);
      if (second_begin > end) x = from + (second_begin - begin) * static_cast<int64_t>(line);
      add<K, kStride, kMasked, 1, 2>(tile, x, second_end - std::max(end, second_begin), line, cell, weights, sum);

      if (tile.clamps) {
#pragma GCC unroll 2
        for (size_t r = 0; r < 2; ++r)
#pragma GCC unroll 8
          for (size_t i = 0; i < P; ++i) sum[r][i] = clamp(sum[r][i], minimum, maximum);
      }
      Lane *first = to, *second = alone ? to : to + y_row;
#pragma GCC unroll 8
      for (size_t i = 0; i < P; ++i) store_next(second, y_step, sum[1][i], lanes);
#pragma GCC unroll 8
      // last, to overwrite a missing second row
      for (size_t i = 0; i < P; ++i) store_next(first, y_step, sum[0][i], lanes);
    }
  }
}

using Compute = void (*)(const Tile&);

// Neighbouring pixels of an output row. `beyond`: their windows reach outside of the image.
struct Piece {
  int64_t x, count;
  bool beyond;
};

// K: the kernel's width with stride kStride, or 1 for any width and stride.
#if defined(__x86_64__)

constexpr const char* kLayout = kLanes == 16 ? "depthwise_avx512" : "depthwise_avx2";  // of packed weights
constexpr size_t kMinPixels = 1;               // pixels that a kernel computes at least
constexpr size_t kFewPixels = kMaxPixels / 2;  // fewer share a kernel for any width
constexpr bool kHasMasks = true;
constexpr size_t kTogether = 8;  // maximum vectors of channels per kernel call

template <size_t K, bool kMasked>
constexpr auto kCompute = []<size_t... I>(std::index_sequence<I...>) {
  return std::array<Compute, sizeof...(I)>{compute<(I + 1 < kFewPixels ? 1 : K), 1, kMasked, I + 1>...};
}
(std::make_index_sequence<kMaxPixels>());

template <size_t K>
Compute kernel(size_t count, bool masked) {
  return (masked ? kCompute<K, true> : kCompute<K, false>)[count - 1];
}

inline void copy_line(const Lane*, size_t, size_t, size_t, Lane*, size_t) {}  // masks replace copies

// The piece that begins at pixel x of `width` pixels; all pieces have about the same size.
inline Piece cut(int64_t x, int64_t width) {
  constexpr auto maximum = static_cast<int64_t>(kMaxPixels);
  const int64_t pieces = (width - x + maximum - 1) / maximum;
  return {x, (width - x + pieces - 1) / pieces, false};
}

#else

// Two sizes only, to keep the library small: map widths are 7 times a power of two, or a power of two. Windows that
// reach beyond the image are copied with zero padding.
constexpr const char* kLayout = kFloat16s ? "depthwise_neon_half" : "depthwise_neon";
constexpr size_t kMinPixels = 7;
constexpr bool kHasMasks = false;
constexpr size_t kTogether = 8;

template <size_t K, size_t kStride>
Compute kernel(size_t count)
#if defined(FERRY_FLOAT16_VECTORS) && !defined(__ARM_FEATURE_FP16_VECTOR_ARITHMETIC)
    ;  // float16 kernels are instantiated in kernels_neon_fp16.cc, compiled for ARMv8.2
#else
{
  return count <= kMinPixels ? compute<K, kStride, false, kMinPixels> : compute<K, kStride, false, kMaxPixels>;
}
#endif

// Copies `vectors` vectors of `count` neighbouring pixels.
inline void copy_line(const Lane* from, size_t step, size_t count, size_t vectors, Lane* to, size_t to_step) {
  for (; count > 0; --count, from += step, to += to_step) {
    const Lane* x = from;
    Lane* y = to;
    size_t rest = vectors;
    for (; rest >= 4; rest -= 4) {
      Vector values[4];
      load_pair(x, values[0], values[1]);
      load_pair(x, values[2], values[3]);
      store_pair(y, values[0], values[1]);
      store_pair(y, values[2], values[3]);
    }
    for (; rest > 0; --rest) store_next(y, kLanes, load_next(x), kAllLanes);
  }
}

// The piece for pixel x of `width` pixels: as few pieces of 8 and 7 pixels as possible. The last may compute pixels of
// the piece before again.
inline Piece cut(int64_t x, int64_t width) {
  constexpr auto maximum = static_cast<int64_t>(kMaxPixels), minimum = static_cast<int64_t>(kMinPixels);
  const int64_t pieces = (width - x + maximum - 1) / maximum;
  const int64_t count = width - x > minimum * pieces ? maximum : std::min(width, minimum);
  return {std::min(x, width - count), count, false};
}

#endif

}  // namespace ferry::cpu::FERRY_VECTOR_SPACE::depthwise
