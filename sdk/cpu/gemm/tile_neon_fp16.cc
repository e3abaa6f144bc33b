// Compiled for ARMv8.2 (cmake/sdk.cmake): must define nothing that other files also define.
#include "sdk/cpu/elementwise/float16.h"

#if defined(__aarch64__)

#include <arm_neon.h>

#include "sdk/cpu/gemm/tile_neon_fp16.h"

namespace ferry::cpu::tile {
namespace {

using Float16x8 = float16x8_t;
using Tile = TileOf<std::byte>;
constexpr size_t kLanes = 8, kColumns = 2 * kLanes;

[[gnu::always_inline]] inline Float16x8 load(const Float16* from) { return vld1q_f16(from); }

template <typename T>
[[gnu::always_inline]] inline T* behind(T* from, size_t bytes) {
  return reinterpret_cast<T*>(reinterpret_cast<uintptr_t>(from) + bytes);
}

// sum += b * a[0].
[[gnu::always_inline]] inline void add_product(Float16x8& sum, Float16x8 b, Float16x8 a) {
  Float16x8 next = sum;
  asm volatile("fmla %0.8h, %1.8h, %2.h[0]" : "+w"(next) : "w"(b), "x"(a));
  sum = next;
}

// Adds eight products per row and advances; sum: V vectors per row. Inline assembly, since gcc 12 copies lanes to
// registers of their own. Rows use the first registers, as only v0 to v15 can be multiplied by lane. One instruction
// loads four vectors of b: two rows for V == 2, four for V == 1. Registers cannot be assigned to array elements, so
// rows have names.
template <size_t R, size_t V>
[[gnu::always_inline]] inline void add_eight(const Float16* (&a)[R], const Float16*& b, Float16x8 (&sum)[R * V]) {
  register Float16x8 row0 asm("v0"), row1 asm("v1"), row2 asm("v2"), row3 asm("v3"), row4 asm("v4"), row5 asm("v5"),
      row6 asm("v6");
  register Float16x8 b0 asm("v28"), b1 asm("v29"), b2 asm("v30"), b3 asm("v31");
#define FERRY_EACH_ROW(DO, lane) DO(0, lane) DO(1, lane) DO(2, lane) DO(3, lane) DO(4, lane) DO(5, lane) DO(6, lane)
#define FERRY_LOAD(i, lane)                                        \
  if constexpr (i < R) {                                           \
    const Float16* from = a[i];                                    \
    asm volatile("ldr %q0, [%1], #16" : "=w"(row##i), "+r"(from)); \
    a[i] = from;                                                   \
  }
#define FERRY_MULTIPLY(i, lane)                                                       \
  if constexpr (i < R && V == 2) {                                                    \
    Float16x8 first = sum[i * V], second = sum[i * V + V - 1];                        \
    asm volatile(                                                                     \
        "fmla %0.8h, %2.8h, %6.h[%7]\n\tfmla %1.8h, %3.8h, %6.h[%7]\n\t"              \
        "fmla %0.8h, %4.8h, %6.h[%8]\n\tfmla %1.8h, %5.8h, %6.h[%8]"                  \
        : "+w"(first), "+w"(second)                                                   \
        : "w"(b0), "w"(b1), "w"(b2), "w"(b3), "w"(row##i), "i"(lane), "i"(lane + 1)); \
    sum[i * V] = first;                                                               \
    sum[i * V + V - 1] = second;                                                      \
  } else if constexpr (i < R) {                                                       \
    Float16x8 some = sum[i];                                                          \
    asm volatile(                                                                     \
        "fmla %0.8h, %1.8h, %5.h[%6]\n\tfmla %0.8h, %2.8h, %5.h[%6 + 1]\n\t"          \
        "fmla %0.8h, %3.8h, %5.h[%6 + 2]\n\tfmla %0.8h, %4.8h, %5.h[%6 + 3]"          \
        : "+w"(some)                                                                  \
        : "w"(b0), "w"(b1), "w"(b2), "w"(b3), "w"(row##i), "i"(lane));                \
    sum[i] = some;                                                                    \
  }
#define FERRY_ADD(lane)                                                                                          \
  asm volatile("ld1 {%0.8h, %1.8h, %2.8h, %3.8h}, [%4], #64" : "=w"(b0), "=w"(b1), "=w"(b2), "=w"(b3), "+r"(b)); \
  FERRY_EACH_ROW(FERRY_MULTIPLY, lane)
  FERRY_EACH_ROW(FERRY_LOAD, 0)
  FERRY_ADD(0)
  if constexpr (V == 2) {
    FERRY_ADD(2)
  }
  FERRY_ADD(4)
  if constexpr (V == 2) {
    FERRY_ADD(6)
  }
#undef FERRY_ADD
#undef FERRY_MULTIPLY
#undef FERRY_LOAD
#undef FERRY_EACH_ROW
}

[[gnu::always_inline]] inline float32x4_t low_half(Float16x8 values) { return vcvt_f32_f16(vget_low_f16(values)); }
[[gnu::always_inline]] inline float32x4_t high_half(Float16x8 values) { return vcvt_high_f32_f16(values); }

// Loads four floats each.
[[gnu::always_inline]] inline void load_pair(const float* from, float32x4_t& first, float32x4_t& second) {
  float32x4_t low, high;
  asm volatile("ldp %q0, %q1, [%2]" : "=w"(low), "=w"(high) : "r"(from) : "memory");
  first = low;
  second = high;
}
// Stores and advances.
[[gnu::always_inline]] inline void store_pair(float*& to, float32x4_t first, float32x4_t second) {
  asm volatile("stp %q1, %q2, [%0], #32" : "+r"(to) : "w"(first), "w"(second) : "memory");
}

// Adds `count` products per sum. If count is kFloat16sAddedUp, its second half is accumulated separately, since the
// rounding error grows with the sum.
template <size_t R, size_t V>
[[gnu::always_inline]] inline void add_products(const Float16* (&next)[R], size_t count, const Float16*& next_b,
                                                Float16x8 (&sum)[R * V]) {
  const Float16 *a[R], *b = next_b;
#pragma GCC unroll 8
  for (size_t i = 0; i < R; ++i) a[i] = next[i];
  constexpr size_t kSums = R * V;
  float before[(kSums + 1) * kLanes / 2];
  const size_t middle = count == kFloat16sAddedUp ? count / 2 : 0;
  for (; count >= kLanes; count -= kLanes) {
    if (count == middle) {
      float* to = before;
#pragma GCC unroll 8
      for (size_t n = 0; n < kSums; n += 2)
        store_pair(to, vreinterpretq_f32_f16(sum[n]), vreinterpretq_f32_f16(sum[n + 1 < kSums ? n + 1 : n]));
#pragma GCC unroll 16
      for (size_t n = 0; n < kSums; ++n) sum[n] = vdupq_n_f16(0);
    }
    add_eight<R, V>(a, b, sum);
  }
  if (middle > 0) {
#pragma GCC unroll 8
    for (size_t n = 0; n < kSums; n += 2) {
      float32x4_t first, second;
      load_pair(before + n * kLanes / 2, first, second);
      sum[n] = vaddq_f16(sum[n], vreinterpretq_f16_f32(first));
      if (n + 1 < kSums) sum[n + 1] = vaddq_f16(sum[n + 1], vreinterpretq_f16_f32(second));
    }
  }
  for (; count > 0; --count, b += V * kLanes) {
    const Float16x8 first = load(b), last = load(b + (V - 1) * kLanes);
#pragma GCC unroll 8
    for (size_t i = 0; i < R; ++i) {
      const Float16x8 number = vld1q_dup_f16(a[i]++);
      add_product(sum[i * V], first, number);
      if constexpr (V == 2) add_product(sum[i * V + 1], last, number);
    }
  }
  next_b = b;
#pragma GCC unroll 8
  for (size_t i = 0; i < R; ++i) next[i] = a[i];
}

// Byte offsets of rows from the first; rows beyond `rows` repeat the last one.
template <size_t R>
struct RowOffsets {
  RowOffsets(size_t rows, size_t stride) {
    for (size_t i = 0; i < R; ++i) at[i] = (i < rows ? i : rows - 1) * stride * sizeof(Float16);
  }
  size_t at[R];
};

// Computes blocks of R rows, or a single block of `rows` rows, with all V * kLanes columns.
template <size_t R, size_t V>
void compute(const Tile& tile, size_t rows) {
  const RowOffsets<R> x_at(rows, tile.x_stride), start_at(rows, tile.start_stride), y_at(rows, tile.y_stride);
  const Float16x8 low = vdupq_n_f16(static_cast<Float16>(tile.low)),
                  high = vdupq_n_f16(static_cast<Float16>(tile.high));
  const Float16 *x = float16s(tile.x), *start_row = float16s(tile.start);
  Float16* y_row = float16s(tile.y);
  const size_t panel_skip = tile.panel_size - tile.parts * tile.inputs * V * kLanes;
  for (size_t block = tile.blocks; block > 0; --block) {
    const Float16 *start = start_row, *b = float16s(tile.weights);
    Float16* y = y_row;
    for (size_t panel = tile.panels; panel > 0; --panel, start += V * kLanes, b += panel_skip, y += V * kLanes) {
      constexpr size_t kSums = R * V;
      const Float16 *part = x, *const end = x + tile.parts * tile.part_step, *row[R];
      float totals[kSums * kLanes];
      bool first = true;
      size_t open = 0;  // inputs left of the current part
      for (;;) {
        Float16x8 sum[kSums];
#pragma GCC unroll 16
        for (size_t n = 0; n < kSums; ++n) sum[n] = vdupq_n_f16(0);
        size_t room = tile.added_up;
        do {
          if (open == 0) {
#pragma GCC unroll 8
            for (size_t i = 0; i < R; ++i) row[i] = behind(part, x_at.at[i]);
            part += tile.part_step;
            open = tile.inputs;
          }
          const size_t some = std::min(open, room);
          add_products<R, V>(row, some, b, sum);
          open -= some;
          room -= some;
        } while (room > 0 && (open > 0 || part != end));
        float* total = totals;
        if (open > 0 || part != end) {
          if (first) {
#pragma GCC unroll 16
            for (size_t n = 0; n < kSums; ++n) store_pair(total, low_half(sum[n]), high_half(sum[n]));
          } else {
#pragma GCC unroll 16
            for (size_t n = 0; n < kSums; ++n) {
              float32x4_t low_total, high_total;
              load_pair(total, low_total, high_total);
              store_pair(total, vaddq_f32(low_total, low_half(sum[n])), vaddq_f32(high_total, high_half(sum[n])));
            }
          }
          first = false;
          continue;
        }
        if (first) {
#pragma GCC unroll 16
          for (size_t n = 0; n < kSums; ++n)
            sum[n] = vaddq_f16(sum[n], load(behind(start, start_at.at[n / V]) + n % V * kLanes));
        } else {
#pragma GCC unroll 16
          for (size_t n = 0; n < kSums; ++n, total += kLanes) {
            const Float16x8 begin = load(behind(start, start_at.at[n / V]) + n % V * kLanes);
            float32x4_t low_total, high_total;
            load_pair(total, low_total, high_total);
            const float32x4_t low_sum = vaddq_f32(vaddq_f32(low_total, low_half(sum[n])), low_half(begin));
            const float32x4_t high_sum = vaddq_f32(vaddq_f32(high_total, high_half(sum[n])), high_half(begin));
            sum[n] = vcvt_high_f16_f32(vcvt_f16_f32(low_sum), high_sum);
          }
        }
        if (tile.added != 0) {
#pragma GCC unroll 16
          for (size_t n = 0; n < kSums; ++n)
            sum[n] = vaddq_f16(sum[n], load(behind(y, y_at.at[n / V] + tile.added) + n % V * kLanes));
        }
#pragma GCC unroll 16
        for (size_t n = 0; n < kSums; ++n)
          vst1q_f16(behind(y, y_at.at[n / V]) + n % V * kLanes, vminq_f16(vmaxq_f16(sum[n], low), high));
        break;
      }
    }
    x += R * tile.x_stride;
    start_row += R * tile.start_stride;
    y_row += R * tile.y_stride;
  }
}

}  // namespace

void multiply_float16s(const Tile& tile, size_t rows, size_t width) {
  const bool wide = width > kLanes;
  for_whole_columns<kRowsOfFloat16 * kColumns * sizeof(Float16), kColumns>(
      tile, rows, width, kRowsOfFloat16, sizeof(Float16), [&](const Tile& some, size_t height) {
        const size_t some_rows = std::min(height, kRowsOfFloat16);
        if (!wide)
          compute<kRowsOfFloat16, 1>(some, some_rows);
        else
          (some_rows == 1 ? compute<1, 2> : compute<kRowsOfFloat16, 2>)(some, some_rows);
      });
}

}  // namespace ferry::cpu::tile

#endif
