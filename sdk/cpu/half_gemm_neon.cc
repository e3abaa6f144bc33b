// XNNPACK's matrix products of halves on arm64, in the places of its own kernels, which add up in half precision: sums
// of some hundred products are then outside the bounds of float16 (docs/parity.md). Here at most kTogether products are
// added up so, eight sums an instruction, and what they give in float32. One tile for all cores, in XNNPACK's layout of
// 16 columns; single rows are added up in float32. Compiled for the instructions of ARMv8.2 (cmake/sdk.cmake): nothing
// here may be called, nor inlined elsewhere, but by XNNPACK where the CPU has them.
#if defined(__aarch64__)

#include <arm_neon.h>

#include <cstddef>
#include <cstdint>

namespace ferry::cpu {
extern const bool kOwnProductsOfHalves;
const bool kOwnProductsOfHalves = true;
}  // namespace ferry::cpu

namespace {

using Eight = float16x8_t;
constexpr size_t kColumns = 16;
constexpr size_t kTogether = 32;

struct Limits {  // as XNNPACK's union xnn_f16_minmax_params
  __fp16 low, high;
};

[[gnu::always_inline]] inline Eight load(const __fp16* from) { return vld1q_f16(from); }

// sum += b * a[lane]. As the instruction: gcc 12 would copy lanes to registers of their own; and in this order, for the
// sake of which it would load the next b early, and copy the one before.
template <int kLane>
[[gnu::always_inline]] inline void add_product(Eight& sum, Eight b, Eight a) {
  asm volatile("fmla %0.8h, %1.8h, %2.h[%3]" : "+w"(sum) : "w"(b), "x"(a), "i"(kLane));
}

// sum += products of a's lanes kLane and the one after it, with two rows of b, which one instruction loads.
template <int kLane, size_t R>
[[gnu::always_inline]] inline void add_two(const __fp16*& b, const Eight (&a)[R], Eight (&sum)[R][2]) {
  register Eight b0 asm("v28"), b1 asm("v29"), b2 asm("v30"), b3 asm("v31");
  asm volatile("ld1 {%0.8h, %1.8h, %2.8h, %3.8h}, [%4], #64" : "=w"(b0), "=w"(b1), "=w"(b2), "=w"(b3), "+r"(b));
#pragma GCC unroll 6
  for (size_t i = 0; i < R; ++i) {
    add_product<kLane>(sum[i][0], b0, a[i]);
    add_product<kLane>(sum[i][1], b1, a[i]);
    add_product<kLane + 1>(sum[i][0], b2, a[i]);
    add_product<kLane + 1>(sum[i][1], b3, a[i]);
  }
}

// `count` products each, of rows which go on to what follows.
template <size_t R>
[[gnu::always_inline]] inline void add_products(const __fp16* (&next)[R], size_t count, const __fp16*& next_b,
                                                Eight (&sum)[R][2]) {
  Eight rows[R];
  const __fp16 *a[R], *b = next_b;
#pragma GCC unroll 6
  for (size_t i = 0; i < R; ++i) a[i] = next[i];
  for (; count >= 8; count -= 8) {
#pragma GCC unroll 6
    for (size_t i = 0; i < R; ++i) asm("ldr %q0, [%1], #16" : "=x"(rows[i]), "+r"(a[i]));
    add_two<0>(b, rows, sum);
    add_two<2>(b, rows, sum);
    add_two<4>(b, rows, sum);
    add_two<6>(b, rows, sum);
  }
  for (; count > 0; --count, b += kColumns) {
#pragma GCC unroll 6
    for (size_t i = 0; i < R; ++i) asm("ld1r {%0.8h}, [%1], #2" : "=x"(rows[i]), "+r"(a[i]));
    const Eight first = load(b), second = load(b + 8);
#pragma GCC unroll 6
    for (size_t i = 0; i < R; ++i) {
      add_product<0>(sum[i][0], first, rows[i]);
      add_product<0>(sum[i][1], second, rows[i]);
    }
  }
  next_b = b;
#pragma GCC unroll 6
  for (size_t i = 0; i < R; ++i) next[i] = a[i];
}

// sum += b * a[lane], of which eight are two sums of four.
template <int kLane>
[[gnu::always_inline]] inline void add_widened(float32x4_t& low, float32x4_t& high, Eight b, float32x4_t a) {
  asm("fmla %0.4s, %1.4s, %2.s[%3]" : "+w"(low) : "w"(vcvt_f32_f16(vget_low_f16(b))), "w"(a), "i"(kLane));
  asm("fmla %0.4s, %1.4s, %2.s[%3]" : "+w"(high) : "w"(vcvt_high_f32_f16(b)), "w"(a), "i"(kLane));
}

template <int kLane>
[[gnu::always_inline]] inline void add_two_widened(const __fp16* b, float32x4_t a, float32x4_t (&sum)[4]) {
  add_widened<kLane>(sum[0], sum[1], load(b), a);
  add_widened<kLane>(sum[2], sum[3], load(b + 8), a);
  add_widened<kLane + 1>(sum[0], sum[1], load(b + 16), a);
  add_widened<kLane + 1>(sum[2], sum[3], load(b + 24), a);
}

// One row, which waits for its weights in any case: in float32 throughout.
void add_products_of_row(const __fp16* a, size_t count, const __fp16*& weights, float* totals) {
  float32x4_t sum[4];
#pragma GCC unroll 4
  for (size_t j = 0; j < 4; ++j) sum[j] = vld1q_f32(totals + 4 * j);
  const __fp16* b = weights;
  for (; count >= 4; count -= 4, a += 4, b += 4 * kColumns) {
    const float32x4_t numbers = vcvt_f32_f16(vld1_f16(a));
    add_two_widened<0>(b, numbers, sum);
    add_two_widened<2>(b + 2 * kColumns, numbers, sum);
  }
  for (; count > 0; --count, b += kColumns) {
    const float32x4_t number = vdupq_n_f32(static_cast<float>(*a++));
    add_widened<0>(sum[0], sum[1], load(b), number);
    add_widened<0>(sum[2], sum[3], load(b + 8), number);
  }
#pragma GCC unroll 4
  for (size_t j = 0; j < 4; ++j) vst1q_f32(totals + 4 * j, sum[j]);
  weights = b;
}

// What was added up in half precision is added to sums, from row to row of which it is `step` more than kColumns.
template <size_t R>
[[gnu::always_inline]] inline void flush(const Eight (&sum)[R][2], const float* from, ptrdiff_t step, float* totals) {
#pragma GCC unroll 6
  for (size_t i = 0; i < R; ++i, from += step)
#pragma GCC unroll 2
    for (size_t j = 0; j < 2; ++j) {
      float32x4_t low, high;
      asm volatile("ldp %q0, %q1, [%2], #32" : "=w"(low), "=w"(high), "+r"(from) : : "memory");
      low = vaddq_f32(low, vcvt_f32_f16(vget_low_f16(sum[i][j])));
      high = vaddq_f32(high, vcvt_high_f32_f16(sum[i][j]));
      asm volatile("stp %q1, %q2, [%0], #32" : "+r"(totals) : "w"(low), "w"(high) : "memory");
    }
}

// Fewer than kColumns.
[[gnu::always_inline]] inline void store(Eight low, Eight high, size_t count, __fp16* to) {
  if (count >= 8) {
    vst1q_f16(to, low);
    to += 8;
    low = high;
  }
  float16x4_t four = vget_low_f16(low);
  if (count & 4) {
    vst1_f16(to, four);
    to += 4;
    four = vget_high_f16(low);
  }
  for (size_t i = count % 4; i > 0; --i, four = vext_f16(four, four, 1)) vst1_lane_f16(to++, four, 0);
}

template <typename T>
[[gnu::always_inline]] inline T* behind(T* from, size_t bytes) {
  return reinterpret_cast<T*>(reinterpret_cast<uintptr_t>(from) + bytes);
}

// R rows, of which those beyond `rows` are the last one, lie where pointers say, per_part for each part of the sums;
// all but zeros lie a_offset further. As XNNPACK calls its kernels; sizes and strides are in bytes.
template <size_t R>
void igemm(size_t rows, size_t columns, size_t inputs, size_t pointers, const void* const* a, const void* w, void* c,
           size_t row_step, size_t column_step, size_t a_offset, const void* zero, const void* params,
           size_t per_part = R) {
  const Limits& limits = *static_cast<const Limits*>(params);
  const Eight low = vdupq_n_f16(limits.low), high = vdupq_n_f16(limits.high);
  const auto* weights = static_cast<const __fp16*>(w);
  const void* const* const end = behind(a, pointers);
  const size_t count = inputs / sizeof(__fp16);
  for (;; columns -= kColumns, c = behind(c, column_step)) {
    float totals[R * kColumns], bias[kColumns];
    for (size_t j = 0; j < kColumns; j += 8, weights += 8) {
      const Eight some = load(weights);
      vst1q_f32(bias + j, vcvt_f32_f16(vget_low_f16(some)));
      vst1q_f32(bias + j + 4, vcvt_high_f32_f16(some));
    }
    const float* from = bias;                                             // what has been added up
    [[maybe_unused]] ptrdiff_t step = -static_cast<ptrdiff_t>(kColumns);  // the bias is the same for all rows
    const void* const* part = a;
    const __fp16* next[R];
    const auto begin_part = [&] {
#pragma GCC unroll 6
      for (size_t i = 0; i < R; ++i) {
        const void* row = part[i < per_part ? i : per_part - 1];
        next[i] = static_cast<const __fp16*>(row == zero ? row : behind(row, a_offset));
      }
      part += per_part;
    };
    if constexpr (R == 1) {
      do {
        begin_part();
        add_products_of_row(next[0], count, weights, bias);
      } while (part != end);
    } else {
      size_t open = 0;
      do {
        Eight sum[R][2];
#pragma GCC unroll 6
        for (size_t i = 0; i < R; ++i) sum[i][0] = sum[i][1] = vdupq_n_f16(0);
        size_t room = kTogether;
        do {
          if (open == 0) {
            begin_part();
            open = count;
          }
          const size_t some = open < room ? open : room;
          add_products(next, some, weights, sum);
          open -= some;
          room -= some;
        } while (room > 0 && (open > 0 || part != end));
        flush(sum, from, step, totals);
        step = 0;
        from = totals;
      } while (open > 0 || part != end);
    }
    auto* to = static_cast<__fp16*>(c);
    const auto narrow = [&](const float* total) {
      const Eight halves = vcvt_high_f16_f32(vcvt_f16_f32(vld1q_f32(total)), vld1q_f32(total + 4));
      return vminq_f16(vmaxq_f16(halves, low), high);
    };
    const float* const last = from + rows * kColumns;
    if (columns >= kColumns) {
      for (; from != last; from += kColumns, to = behind(to, row_step)) {
        vst1q_f16(to, narrow(from));
        vst1q_f16(to + 8, narrow(from + 8));
      }
    } else {
      for (; from != last; from += kColumns, to = behind(to, row_step))
        store(narrow(from), narrow(from + 8), columns, to);
    }
    if (columns <= kColumns) return;
  }
}

// Rows that lie a_stride apart: one part.
template <size_t R>
void gemm(size_t rows, size_t columns, size_t inputs, const void* a, size_t a_stride, const void* w, void* c,
          size_t row_step, size_t column_step, const void* params) {
  const void* next[R];
  for (size_t i = 0; i < R; ++i) next[i] = behind(a, (i < rows ? i : rows - 1) * a_stride);
  igemm<R>(rows, columns, inputs, sizeof next, next, w, c, row_step, column_step, /*a_offset=*/0, nullptr, params);
}

}  // namespace

#define FERRY_GEMM(rows, name)                                                                               \
  void xnn_f16_gemm_minmax_ukernel_##name(size_t mr, size_t nc, size_t kc, const void* a, size_t a_stride,   \
                                          const void* w, void* c, size_t cm_stride, size_t cn_stride,        \
                                          const void* params) {                                              \
    gemm<rows>(mr, nc, kc, a, a_stride, w, c, cm_stride, cn_stride, params);                                 \
  }                                                                                                          \
  void xnn_f16_igemm_minmax_ukernel_##name(size_t mr, size_t nc, size_t kc, size_t ks, const void* const* a, \
                                           const void* w, void* c, size_t cm_stride, size_t cn_stride,       \
                                           size_t a_offset, const void* zero, const void* params) {          \
    igemm<rows>(mr, nc, kc, ks, a, w, c, cm_stride, cn_stride, a_offset, zero, params);                      \
  }

extern "C" {
FERRY_GEMM(1, 1x16__asm_aarch64_neonfp16arith_ld64)
FERRY_GEMM(6, 6x16__asm_aarch64_neonfp16arith_cortex_a75)

// Of Exynos M5.
void xnn_f16_gemm_minmax_ukernel_4x16__asm_aarch64_neonfp16arith_ld64(size_t mr, size_t nc, size_t kc, const void* a,
                                                                      size_t a_stride, const void* w, void* c,
                                                                      size_t cm_stride, size_t cn_stride,
                                                                      const void* params) {
  gemm<6>(mr, nc, kc, a, a_stride, w, c, cm_stride, cn_stride, params);
}
void xnn_f16_igemm_minmax_ukernel_4x16__asm_aarch64_neonfp16arith_ld64(size_t mr, size_t nc, size_t kc, size_t ks,
                                                                       const void* const* a, const void* w, void* c,
                                                                       size_t cm_stride, size_t cn_stride,
                                                                       size_t a_offset, const void* zero,
                                                                       const void* params) {
  igemm<6>(mr, nc, kc, ks, a, w, c, cm_stride, cn_stride, a_offset, zero, params, 4);
}
}
#undef FERRY_GEMM

// The same under the names of those for other cores.
#define FERRY_SAME_KERNEL(kind, core)                                              \
  extern "C" decltype(xnn_f16_##kind##_6x16__asm_aarch64_neonfp16arith_cortex_a75) \
      xnn_f16_##kind##_6x16__asm_aarch64_neonfp16arith_##core                      \
      __attribute__((alias("xnn_f16_" #kind "_6x16__asm_aarch64_neonfp16arith_cortex_a75")));
FERRY_SAME_KERNEL(gemm_minmax_ukernel, cortex_a55)
FERRY_SAME_KERNEL(gemm_minmax_ukernel, cortex_a55r0)
FERRY_SAME_KERNEL(gemm_minmax_ukernel, ld64)
FERRY_SAME_KERNEL(igemm_minmax_ukernel, cortex_a55)
FERRY_SAME_KERNEL(igemm_minmax_ukernel, cortex_a55r0)
FERRY_SAME_KERNEL(igemm_minmax_ukernel, ld64)
#undef FERRY_SAME_KERNEL

#endif
