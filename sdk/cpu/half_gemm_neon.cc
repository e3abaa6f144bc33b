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

// sum += b * a[lane]. As the instruction: gcc 12 would copy lanes to registers of their own.
template <int kLane>
[[gnu::always_inline]] inline void add_product(Eight& sum, Eight b, Eight a) {
  asm("fmla %0.8h, %1.8h, %2.h[%3]" : "+w"(sum) : "w"(b), "x"(a), "i"(kLane));
}

template <int kLane, size_t R>
[[gnu::always_inline]] inline void add_row(const __fp16* b, const Eight (&a)[R], Eight (&sum)[R][2]) {
  const Eight first = load(b + kLane * kColumns), second = load(b + kLane * kColumns + 8);
#pragma GCC unroll 6
  for (size_t i = 0; i < R; ++i) {
    add_product<kLane>(sum[i][0], first, a[i]);
    add_product<kLane>(sum[i][1], second, a[i]);
  }
}

// `count` products each, of rows which go on to what follows.
template <size_t R>
[[gnu::always_inline]] inline void add_products(const __fp16* (&a)[R], size_t count, const __fp16*& b,
                                                Eight (&sum)[R][2]) {
  for (; count >= 8; count -= 8) {
    Eight rows[R];
#pragma GCC unroll 6
    for (size_t i = 0; i < R; ++i) {
      rows[i] = load(a[i]);
      a[i] += 8;
    }
    add_row<0>(b, rows, sum);
    add_row<1>(b, rows, sum);
    add_row<2>(b, rows, sum);
    add_row<3>(b, rows, sum);
    add_row<4>(b, rows, sum);
    add_row<5>(b, rows, sum);
    add_row<6>(b, rows, sum);
    add_row<7>(b, rows, sum);
    b += 8 * kColumns;
  }
  for (; count > 0; --count, b += kColumns) {
    Eight rows[R];
#pragma GCC unroll 6
    for (size_t i = 0; i < R; ++i) rows[i] = vld1q_dup_f16(a[i]++);
    add_row<0>(b, rows, sum);
  }
}

// One row, which waits for its weights in any case: in float32 throughout.
void add_products_of_row(const __fp16* a, size_t count, const __fp16*& weights, float* totals) {
  float32x4_t sum[4];
#pragma GCC unroll 4
  for (size_t j = 0; j < 4; ++j) sum[j] = vld1q_f32(totals + 4 * j);
  const __fp16* b = weights;
  for (; count > 0; --count, b += kColumns) {
    const float32x4_t number = vdupq_n_f32(static_cast<float>(*a++));
    const Eight first = load(b), second = load(b + 8);
    sum[0] = vfmaq_f32(sum[0], vcvt_f32_f16(vget_low_f16(first)), number);
    sum[1] = vfmaq_f32(sum[1], vcvt_high_f32_f16(first), number);
    sum[2] = vfmaq_f32(sum[2], vcvt_f32_f16(vget_low_f16(second)), number);
    sum[3] = vfmaq_f32(sum[3], vcvt_high_f32_f16(second), number);
  }
#pragma GCC unroll 4
  for (size_t j = 0; j < 4; ++j) vst1q_f32(totals + 4 * j, sum[j]);
  weights = b;
}

// What was added up in half precision goes to the sums, and begins anew.
template <size_t R>
[[gnu::always_inline]] inline void flush(Eight (&sum)[R][2], float* totals) {
#pragma GCC unroll 6
  for (size_t i = 0; i < R; ++i)
#pragma GCC unroll 2
    for (size_t j = 0; j < 2; ++j, totals += 8) {
      vst1q_f32(totals, vaddq_f32(vld1q_f32(totals), vcvt_f32_f16(vget_low_f16(sum[i][j]))));
      vst1q_f32(totals + 4, vaddq_f32(vld1q_f32(totals + 4), vcvt_high_f32_f16(sum[i][j])));
      sum[i][j] = vdupq_n_f16(0);
    }
}

void store(Eight low, Eight high, size_t count, __fp16* to) {
  if (count >= kColumns) {
    vst1q_f16(to, low);
    vst1q_f16(to + 8, high);
    return;
  }
  __fp16 row[kColumns];
  vst1q_f16(row, low);
  vst1q_f16(row + 8, high);
  for (size_t i = 0; i < count; ++i) to[i] = row[i];
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
  for (;; columns -= kColumns, c = behind(c, column_step)) {
    float totals[R * kColumns];
    for (size_t j = 0; j < kColumns; j += 8) {
      const Eight bias = load(weights + j);
      for (size_t i = 0; i < R; ++i) {
        vst1q_f32(totals + i * kColumns + j, vcvt_f32_f16(vget_low_f16(bias)));
        vst1q_f32(totals + i * kColumns + j + 4, vcvt_high_f32_f16(bias));
      }
    }
    weights += kColumns;
    Eight sum[R][2];
#pragma GCC unroll 6
    for (size_t i = 0; i < R; ++i) sum[i][0] = sum[i][1] = vdupq_n_f16(0);
    size_t room = kTogether;
    for (const void* const* part = a; part != end; part += per_part) {
      const __fp16* next[R];
#pragma GCC unroll 6
      for (size_t i = 0; i < R; ++i) {
        const void* row = part[i < per_part ? i : per_part - 1];
        next[i] = static_cast<const __fp16*>(row == zero ? row : behind(row, a_offset));
      }
      if constexpr (R == 1) {
        add_products_of_row(next[0], inputs / sizeof(__fp16), weights, totals);
        continue;
      }
      for (size_t open = inputs / sizeof(__fp16); open > 0;) {
        const size_t count = open < room ? open : room;
        add_products(next, count, weights, sum);
        open -= count;
        room -= count;
        if (room > 0) continue;
        flush(sum, totals);
        room = kTogether;
      }
    }
    if (room < kTogether) flush(sum, totals);
    for (size_t i = 0; i < rows; ++i) {
      const float* total = totals + i * kColumns;
      Eight halves[2];
      for (size_t j = 0; j < 2; ++j) {
        const float16x4_t first = vcvt_f16_f32(vld1q_f32(total + 8 * j));
        halves[j] = vcvt_high_f16_f32(first, vld1q_f32(total + 8 * j + 4));
        halves[j] = vminq_f16(vmaxq_f16(halves[j], low), high);
      }
      store(halves[0], halves[1], columns, static_cast<__fp16*>(behind(c, i * row_step)));
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
