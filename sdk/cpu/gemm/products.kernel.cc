#include "sdk/cpu/gemm/products.h"

#include <algorithm>

#include "sdk/cpu/backend/parallel.h"
#if defined(__aarch64__)
#include "sdk/cpu/gemm/tile_neon.h"
#endif

namespace ferry::cpu {
namespace {

constexpr size_t kKc = 128;  // KC: inputs that stay in the L1 cache while all rows pass

// Computes a tile of kRows rows from `first` by kCount vectors from column `x`, for k in [begin, end). All loops over
// sums are unrolled, so that the sums stay in registers.
template <size_t kBytes, size_t kCount, size_t kRows>
[[gnu::always_inline]] inline void multiply_tile(const Product& p, size_t first, size_t x, size_t begin, size_t end) {
  typedef float Vector __attribute__((vector_size(kBytes)));
  typedef float Unaligned __attribute__((vector_size(kBytes), aligned(4), may_alias));
  const float* a[kRows];
  std::copy_n(p.a + first, kRows, a);
  Vector sums[kRows][kCount];
#pragma GCC unroll 12
  for (size_t i = 0; i < kRows; ++i)
#pragma GCC unroll 4
    for (size_t j = 0; j < kCount; ++j) sums[i][j] = Vector{};
  const float* b = p.b + begin * p.b_stride + x;
#if defined(__aarch64__)
#pragma GCC unroll 6
  for (size_t i = 0; i < kRows; ++i) a[i] += begin;
  add_products<false>(a, Iterations(end - begin), b, p.b_stride, sums);
#else
  for (size_t k = begin; k < end; ++k, b += p.b_stride)
#pragma GCC unroll 12
    for (size_t i = 0; i < kRows; ++i)
#pragma GCC unroll 4
      for (size_t j = 0; j < kCount; ++j) sums[i][j] += a[i][k] * reinterpret_cast<const Unaligned*>(b)[j];
#endif
#pragma GCC unroll 12
  for (size_t i = 0; i < kRows; ++i) {
    if (first + i >= p.rows) return;
    Unaligned* y = reinterpret_cast<Unaligned*>(p.y + (first + i) * p.y_stride + x);
    const float keep = begin == 0 ? p.keep[first + i] : 1.0f, factor = p.factor[first + i];
#pragma GCC unroll 4
    for (size_t j = 0; j < kCount; ++j) y[j] = keep != 0 ? sums[i][j] * factor + y[j] * keep : sums[i][j] * factor;
  }
}

// Computes columns from `x`: tiles of kCount vectors, then narrower ones.
template <size_t kBytes, size_t kCount>
[[gnu::always_inline]] inline void multiply_with(const Product& p, size_t x = 0) {
  constexpr size_t kWidth = kCount * kBytes / sizeof(float);
  // With one 512-bit vector per row, six sums would wait for each other.
  constexpr size_t kRows = kBytes == 64 && kCount == 1 ? 2 * kTileRows : kTileRows;
  const size_t kc_blocks = (p.count + kKc - 1) / kKc;
  for (; x + kWidth <= p.width; x += kWidth)
    for (size_t kc_block = 0; kc_block < kc_blocks; ++kc_block)
      for (size_t first = 0; first < p.rows; first += kRows)
        multiply_tile<kBytes, kCount, kRows>(p, first, x, p.count * kc_block / kc_blocks,
                                             p.count * (kc_block + 1) / kc_blocks);
#if defined(__aarch64__)
  constexpr size_t kNarrower = 1;  // keeps the library small
#else
  constexpr size_t kNarrower = kCount / 2;
#endif
  if constexpr (kCount > 1) {
    multiply_with<kBytes, kNarrower>(p, x);
  } else if constexpr (kBytes > 16) {
    multiply_with<kBytes / 2, 1>(p, x);
  } else {
    for (; x < p.width; ++x) {
      for (size_t i = 0; i < p.rows; ++i) {
        float sum = 0;
        for (size_t k = 0; k < p.count; ++k) sum += p.a[i][k] * p.b[k * p.b_stride + x];
        float& y = p.y[i * p.y_stride + x];
        y = sum * p.factor[i] + (p.keep[i] != 0 ? y * p.keep[i] : 0.0f);
      }
    }
  }
}

// target_clones would not do: the vector width is part of the source.
#if defined(__aarch64__)
void multiply_128(const Product& p) { multiply_with<16, 4>(p); }
#else
void multiply_128(const Product& p) { multiply_with<16, 2>(p); }
#endif
#if defined(__x86_64__) && defined(__gnu_linux__)
[[gnu::target("avx2,fma")]] void multiply_256(const Product& p) { multiply_with<32, 2>(p); }
[[gnu::target("avx512f")]] void multiply_512(const Product& p) { multiply_with<64, 4>(p); }
#endif

template <typename T>
[[gnu::always_inline]] inline void transpose_rows(const T* from, size_t from_stride, size_t rows, size_t columns, T* to,
                                                  size_t to_stride) {
  for (size_t i = 0; i < rows; i += 4) {
    const size_t height = std::min<size_t>(4, rows - i);
    size_t j = 0;
    for (; height == 4 && j + 4 <= columns; j += 4)
      transpose_square(from + i * from_stride + j, from_stride, to + j * to_stride + i, to_stride);
    for (; j < columns; ++j)
      for (size_t k = i; k < i + height; ++k) to[j * to_stride + k] = from[k * from_stride + j];
  }
}

}  // namespace

Multiply widest_multiply([[maybe_unused]] const CpuFeatures& cpu) {
#if defined(__x86_64__) && defined(__gnu_linux__)
  if (cpu.avx512f) return multiply_512;
  if (cpu.avx2) return multiply_256;
#endif
  return multiply_128;
}

FERRY_KERNEL void multiply_rows(const float* x, const float* rows, size_t stride, size_t size, size_t count,
                                float scale, float* y) {
  const size_t whole = size / kParts * kParts;
  for (size_t s = 0; s < count; ++s, rows += stride) {
    float sums[kParts] = {};
    for (size_t d = 0; d < whole; d += kParts)
      for (size_t k = 0; k < kParts; ++k) sums[k] += x[d + k] * rows[d + k];
    float sum = reduce(sums, [](Quad a, Quad b) { return a + b; });
    for (size_t d = whole; d < size; ++d) sum += x[d] * rows[d];
    y[s] = scale * sum;
  }
}

void transpose(const float* from, size_t from_stride, size_t rows, size_t columns, float* to, size_t to_stride) {
  transpose_rows(from, from_stride, rows, columns, to, to_stride);
}

void transpose(const uint16_t* from, size_t from_stride, size_t rows, size_t columns, uint16_t* to, size_t to_stride) {
  transpose_rows(from, from_stride, rows, columns, to, to_stride);
}

}  // namespace ferry::cpu
