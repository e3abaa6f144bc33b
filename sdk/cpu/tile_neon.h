// The inner loop of matrix products on arm64, for gemm.cc and products.cc: up to 6 rows by 16 columns, of which 24 of
// the 32 registers add up, 6 hold four numbers of each row and 2 those of a matrix. Instructions a multiply-add of
// four: 1.18, where XNNPACK's 6 by 8 execute 1.25 and more. Cores that execute out of order fetch ahead themselves.
#pragma once

#include <cstddef>

#include "sdk/cpu/vector.h"

namespace ferry::cpu {

// sum += b * a[lane]. As the instruction: gcc 12 would copy the lanes to registers of their own, which there are not.
template <int kLane, typename Sum>
[[gnu::always_inline]] inline void add_product(Sum& sum, Vector b, Vector a) {
  asm("fmla %0.4s, %1.4s, %2.s[%3]" : "+w"(sum) : "w"(b), "w"(a), "i"(kLane));
}

template <int kLane, size_t R, size_t V, typename Sum>
[[gnu::always_inline]] inline void add_row(const float* b, const Vector (&a)[R], Sum (&sum)[R][V]) {
#pragma GCC unroll 2
  for (size_t j = 0; j < V; j += 2) {
    const Vector first = load(b + j * kLanes), second = j + 1 < V ? load(b + (j + 1) * kLanes) : first;
#pragma GCC unroll 6
    for (size_t i = 0; i < R; ++i) {
      add_product<kLane>(sum[i][j], first, a[i]);
      if (j + 1 < V) add_product<kLane>(sum[i][j + 1], second, a[i]);
    }
  }
}

// Sum: a vector of four floats. sum[i] += a[i][k] * b[k * b_stride + 0..V * kLanes), for k up to `count`.
template <size_t R, size_t V, typename Sum>
[[gnu::always_inline]] inline void add_products(const float* const (&a)[R], size_t count, const float* b,
                                                size_t b_stride, Sum (&sum)[R][V]) {
  const size_t whole = count / kLanes * kLanes;
  if (whole > 0) {
    size_t k = 0;
    const float* const end = b + whole * b_stride;
    do {
      Vector values[R];
#pragma GCC unroll 6
      for (size_t i = 0; i < R; ++i) values[i] = load(a[i] + k);
      k += kLanes;
      add_row<0>(b, values, sum);
      add_row<1>(b + b_stride, values, sum);
      add_row<2>(b + 2 * b_stride, values, sum);
      add_row<3>(b + 3 * b_stride, values, sum);
      b += kLanes * b_stride;
    } while (b != end);
  }
#pragma GCC unroll 1
  for (size_t k = whole; k < count; ++k, b += b_stride) {
    Vector values[R];
#pragma GCC unroll 6
    for (size_t i = 0; i < R; ++i) values[i] = repeat(a[i][k]);
    add_row<0>(b, values, sum);
  }
}

}  // namespace ferry::cpu
