// Products of matrices that are not constant, in place or packed during the run: attention, and products of two
// activations.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sdk/cpu/backend/features.h"

namespace ferry::cpu {

#if defined(__aarch64__)
inline constexpr size_t kTileRows = 4;  // of a register tile: tile_neon.h
#else
inline constexpr size_t kTileRows = 6;  // of a register tile: with four vectors per row, 24 registers accumulate
#endif
inline constexpr size_t kRowsAtOnce = 48;  // whole tiles, for which a packed panel stays in the cache
inline constexpr size_t kPanel = 64;       // columns packed together
// Partial sums of a dot product, so that additions do not wait for each other.
inline constexpr size_t kParts = 16;

// y[i][0..width) = y[i] * keep[i] + factor[i] * sum over k of a[i][k] * b[k * b_stride + 0..width), for `rows` rows. y
// is not read where keep is 0. Rows of `a` up to a multiple of 2 * kTileRows are read.
struct Product {
  const float* const* a;
  const float* b;
  size_t b_stride, count;
  const float *keep, *factor;
  float* y;
  size_t y_stride, width, rows;
};

using Multiply = void (*)(const Product&);
Multiply widest_multiply(const CpuFeatures& cpu);

// y[s] = scale * (x . rows[s]), for `count` rows of `size` elements, `stride` apart.
void multiply_rows(const float* x, const float* rows, size_t stride, size_t size, size_t count, float scale, float* y);

typedef float Quad __attribute__((vector_size(16), aligned(4), may_alias));

// to[j][i] = from[i][j] for a 4x4 square of float, or of float16 as uint16_t.
template <typename T>
[[gnu::always_inline]] inline void transpose_square(const T* from, size_t from_stride, T* to, size_t to_stride) {
  typedef T Four __attribute__((vector_size(4 * sizeof(T)), aligned(sizeof(T)), may_alias));
  Four rows[4], pairs[4];
  for (size_t i = 0; i < 4; ++i) rows[i] = *reinterpret_cast<const Four*>(from + i * from_stride);
  for (size_t i = 0; i < 2; ++i) {
    pairs[i] = __builtin_shufflevector(rows[2 * i], rows[2 * i + 1], 0, 4, 1, 5);
    pairs[i + 2] = __builtin_shufflevector(rows[2 * i], rows[2 * i + 1], 2, 6, 3, 7);
  }
  for (size_t i = 0; i < 4; i += 2) {
    *reinterpret_cast<Four*>(to + i * to_stride) = __builtin_shufflevector(pairs[i], pairs[i + 1], 0, 1, 4, 5);
    *reinterpret_cast<Four*>(to + (i + 1) * to_stride) = __builtin_shufflevector(pairs[i], pairs[i + 1], 2, 3, 6, 7);
  }
}

// The same for `rows` x `columns` elements.
void transpose(const float* from, size_t from_stride, size_t rows, size_t columns, float* to, size_t to_stride);
void transpose(const uint16_t* from, size_t from_stride, size_t rows, size_t columns, uint16_t* to, size_t to_stride);

// Reduces kParts elements pairwise.
template <typename Join>
[[gnu::always_inline]] inline float reduce(const float* parts, const Join& join) {
  const Quad* quads = reinterpret_cast<const Quad*>(parts);
  Quad all = join(join(quads[0], quads[1]), join(quads[2], quads[3]));
  all = join(all, __builtin_shufflevector(all, all, 2, 3, 0, 1));
  all = join(all, __builtin_shufflevector(all, all, 1, 0, 3, 2));
  return all[0];
}

}  // namespace ferry::cpu
