// The product of linear_blocks.h, written once for several instruction sets. A file that includes this defines
// FERRY_BLOCKS_VECTORS, the attribute of functions with its instructions, and types V with:
//
//     kLanes, kPowers  outputs per vector; the kernels' number of rows is up to 2^(kPowers - 1)
//     kByteZero        BlockKernels::byte_zero
//     Ints, Floats
//     dot<kBits>()     `sum` plus the products of a block's codes with 32 inputs, by output
//     scales(), multiply_add(), store()
#pragma once

#include <cstring>

#if defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "sdk/cpu/gemm/linear_blocks.h"
#include "sdk/kernel.h"

namespace ferry::cpu {
namespace {

constexpr size_t kPanelOutputs = 16;
constexpr size_t kGroupBytes = 4 * kPanelOutputs;
constexpr size_t kPrefetchBytes = 2048;  // for a single row, which is bound by memory

// Four 8-bit inputs as the bits of an integer.
[[maybe_unused]] inline int32_t four(const int8_t* inputs) {
  int32_t number;
  std::memcpy(&number, inputs, sizeof number);
  return number;
}

#if defined(__aarch64__)
// What vectors of 128 bits share.
struct NeonBlocks {
  static constexpr size_t kLanes = 4;
  static constexpr int kByteZero = 0;
  using Ints = int32x4_t;
  using Floats = float32x4_t;

  [[gnu::always_inline]] static inline Floats scales(const uint16_t* from, bool float16) {
    const uint16x4_t stored = vld1_u16(from);
    if (float16) return vcvt_f32_f16(vreinterpret_f16_u16(stored));
    return vreinterpretq_f32_u32(vshlq_n_u32(vmovl_u16(stored), 16));
  }
  [[gnu::always_inline]] static inline Floats multiply_add(Floats scale, Ints sum, Floats total) {
    return vfmaq_f32(total, scale, vcvtq_f32_s32(sum));
  }
  [[gnu::always_inline]] static inline void store(float* to, Floats value) { vst1q_f32(to, value); }
};
#endif

// y = d (sum of s (n - zero) q - z sum of s (n - zero)) + bias, with codes n, scales s, and rows q of scale d and zero
// point z.
template <class V, unsigned kBits, size_t R>
FERRY_BLOCKS_VECTORS void compute_blocks(const BlockWeights& w, const BlockRows& rows, size_t row, size_t panel,
                                         float* y) {
  constexpr size_t kVectors = kPanelOutputs / V::kLanes, kBlockBytes = kPanelOutputs * kLinearBlock * kBits / 8;
  const size_t blocks = w.inputs / kLinearBlock;
  const auto* codes = reinterpret_cast<const uint8_t*>(w.packed) + panel * w.panel_bytes;
  const auto* scales = reinterpret_cast<const uint16_t*>(codes + blocks * kBlockBytes);
  const auto* bias = reinterpret_cast<const float*>(scales + blocks * kPanelOutputs);
  const int8_t* x = rows.values + row * w.inputs;
  const int32_t* sums = rows.sums + row * blocks;
  typename V::Floats total[R][kVectors] = {};
  for (size_t b = 0; b < blocks; ++b, codes += kBlockBytes, scales += kPanelOutputs, x += kLinearBlock) {
    if constexpr (R == 1)
      for (size_t i = 0; i < kBlockBytes; i += kGroupBytes) __builtin_prefetch(codes + kPrefetchBytes + i);
#pragma GCC unroll 1  // unrolled, it is several times larger and no faster
    for (size_t v = 0; v < kVectors; ++v) {
      const typename V::Floats scale = V::scales(scales + v * V::kLanes, w.float16);
#pragma GCC unroll 8
      for (size_t i = 0; i < R; ++i)
        total[i][v] = V::multiply_add(
            scale, V::template dot<kBits>(codes + 4 * v * V::kLanes, x + i * w.inputs, sums[i * blocks + b]),
            total[i][v]);
    }
  }
  const size_t first = panel * kPanelOutputs, count = std::min(kPanelOutputs, w.outputs - first);
  for (size_t i = 0; i < R; ++i) {
    const xnn_quantization_params& step = rows.steps[row + i];
    const float zero = static_cast<float>(step.zero_point);
    float values[kPanelOutputs];
    for (size_t v = 0; v < kVectors; ++v) V::store(values + v * V::kLanes, total[i][v]);
    for (size_t j = 0; j < kPanelOutputs; ++j) {
      const float value = step.scale * (values[j] - zero * bias[kPanelOutputs + j]) + bias[j];
      const float above = value < w.min ? w.min : value;
      values[j] = above > w.max ? w.max : above;
    }
    std::memcpy(y + (row + i) * w.outputs + first, values, count * sizeof(float));
  }
}

template <class V>
constexpr BlockKernels kernels_of(const char* name) {
  BlockKernels out{.name = name, .byte_zero = V::kByteZero, .compute = {}};
  out.compute[0][0] = compute_blocks<V, 4, 1>;
  out.compute[1][0] = compute_blocks<V, 8, 1>;
  if constexpr (V::kPowers > 1) {
    out.compute[0][2] = compute_blocks<V, 4, 4>;
    out.compute[1][2] = compute_blocks<V, 8, 4>;
  }
  if constexpr (V::kPowers > 3) {
    out.compute[0][3] = compute_blocks<V, 4, 8>;
    out.compute[1][3] = compute_blocks<V, 8, 8>;
  }
  return out;
}

}  // namespace
}  // namespace ferry::cpu
