// The inner loop of matrix products on arm64, for gemm.kernel.cc and products.kernel.cc: up to 4 rows by 16 columns. Of
// 32 registers, 16 accumulate, 8 hold eight inputs of each row and 4 hold weights. One instruction loads two or four
// registers, so there are 1.11 instructions per vector multiply-add (6 by 16: 1.18; XNNPACK's 6 by 8: 1.25).
// Out-of-order cores prefetch in hardware.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sdk/cpu/elementwise/vector.h"

namespace ferry::cpu {

// sum += b * a[lane]. Inline assembly, since gcc 12 copies the lanes to registers of their own.
template <int kLane, typename Sum>
[[gnu::always_inline]] inline void add_product(Sum& sum, Vector b, Vector a) {
  asm("fmla %0.4s, %1.4s, %2.s[%3]" : "+w"(sum) : "w"(b), "w"(a), "i"(kLane));
}

// Like those of vector.h, it does not declare that it reads memory.
[[gnu::always_inline]] inline Vector load_repeated(const float*& a) {
  Vector value;
  asm("ld1r {%0.4s}, [%1], #4" : "=w"(value), "+r"(a));
  return value;
}

// sum[i] += a[i][kLane] * the next row of b. For V == 2, one load reads two rows, for two lanes.
template <int kLane, bool kPacked, size_t R, size_t V, typename Sum>
[[gnu::always_inline]] inline void add_row(const float*& b, size_t step, const Vector (&a)[R], Sum (&sum)[R][V]) {
  static_assert(V == 1 || V == 2 || V == 4);
  if constexpr (V == 1) {
    Vector value;
    asm("ld1 {%0.4s}, [%1], %2" : "=w"(value), "+r"(b) : "r"(step));
#pragma GCC unroll 6
    for (size_t i = 0; i < R; ++i) add_product<kLane>(sum[i][0], value, a[i]);
    return;
  }
  if constexpr (V == 2 && kLane % 2 == 1) return;
  // one instruction loads consecutive registers
  register Vector b0 asm("v28"), b1 asm("v29"), b2 asm("v30"), b3 asm("v31");
  if constexpr (kPacked)
    asm("ld1 {%0.4s, %1.4s, %2.4s, %3.4s}, [%4], #64" : "=w"(b0), "=w"(b1), "=w"(b2), "=w"(b3), "+r"(b));
  else
    asm("ld1 {%0.4s, %1.4s, %2.4s, %3.4s}, [%4], %5" : "=w"(b0), "=w"(b1), "=w"(b2), "=w"(b3), "+r"(b) : "r"(step));
#pragma GCC unroll 6
  for (size_t i = 0; i < R; ++i) {
    add_product<kLane>(sum[i][0], b0, a[i]);
    add_product<kLane>(sum[i][1], b1, a[i]);
    if constexpr (V == 4) {
      add_product<kLane>(sum[i][2], b2, a[i]);
      add_product<kLane>(sum[i][3], b3, a[i]);
    } else {
      add_product<kLane + 1>(sum[i][0], b2, a[i]);
      add_product<kLane + 1>(sum[i][1], b3, a[i]);
    }
  }
}

// The same for eight inputs of each row.
template <bool kPacked, size_t R, size_t V, typename Sum>
[[gnu::always_inline]] inline void add_eight(const float* (&a)[R], const float*& b, size_t step, Sum (&sum)[R][V]) {
  Vector first[R], second[R];
#pragma GCC unroll 6
  for (size_t i = 0; i < R; ++i) load_pair(a[i], first[i], second[i]);
  add_row<0, kPacked>(b, step, first, sum);
  add_row<1, kPacked>(b, step, first, sum);
  add_row<2, kPacked>(b, step, first, sum);
  add_row<3, kPacked>(b, step, first, sum);
  add_row<0, kPacked>(b, step, second, sum);
  add_row<1, kPacked>(b, step, second, sum);
  add_row<2, kPacked>(b, step, second, sum);
  add_row<3, kPacked>(b, step, second, sum);
}

// A number of products as loop counts; opaque, since gcc would compute them again for each tile.
struct Iterations {
  explicit Iterations(size_t count) : eights(count / 8), rest(count % 8), bytes(count / 8 * 8 * sizeof(float)) {
    asm("" : "+r"(eights), "+r"(rest), "+r"(bytes));
  }
  size_t eights, rest, bytes;  // bytes: of the eights
};

// Sum: a vector of four floats. sum[i] += a[i][k] * b[k * b_stride + 0..V * kLanes) for all k of `iterations`. Advances
// a and b. If V == 2, b_stride is 2 * kLanes.
template <bool kPacked, size_t R, size_t V, typename Sum>
[[gnu::always_inline]] inline void add_products(const float* (&next_a)[R], const Iterations& iterations,
                                                const float*& next_b, size_t b_stride, Sum (&sum)[R][V]) {
  const float *a[R], *b = next_b;
#pragma GCC unroll 6
  for (size_t i = 0; i < R; ++i) a[i] = next_a[i];
  const size_t step = b_stride * sizeof(float);
  if (iterations.eights != 0) {
    auto end = reinterpret_cast<uintptr_t>(a[0]) + iterations.bytes;
    asm("" : "+r"(end));  // otherwise gcc adds in the loop
    // Unrolled twice: the loop's own instructions matter if there are many products.
    constexpr bool kTwice = kPacked && R * V == 16;
    if (kTwice && iterations.eights % 2 == 1) goto second;
    do {
      add_eight<kPacked>(a, b, step, sum);
    second:
      if constexpr (kTwice) add_eight<kPacked>(a, b, step, sum);
    } while (reinterpret_cast<uintptr_t>(a[0]) != end);
  }
  for (size_t k = iterations.rest; k > 0; --k) {
    Vector values[R];
#pragma GCC unroll 6
    for (size_t i = 0; i < R; ++i) values[i] = load_repeated(a[i]);
    if constexpr (V == 2) {
#pragma GCC unroll 2
      for (size_t j = 0; j < V; ++j, b += kLanes) {
        const Vector value = load(b);
#pragma GCC unroll 6
        for (size_t i = 0; i < R; ++i) add_product<0>(sum[i][j], value, values[i]);
      }
    } else {
      add_row<0, kPacked>(b, step, values, sum);
    }
  }
#pragma GCC unroll 6
  for (size_t i = 0; i < R; ++i) next_a[i] = a[i];
  next_b = b;
}

}  // namespace ferry::cpu
