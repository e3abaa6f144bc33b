// Depthwise convolutions of Int8 activations with square kernels of 3 or 5 and strides of 1 or 2, for AVX-512 VNNI,
// AVX2 and arm64 with dot products. The integers are those that docs/format.md defines.
//
// Four rows of the input are interleaved, so that four bytes hold one channel of a column; one instruction then
// multiplies them by a column of the kernel and adds the products. A group of output rows shares interleaved rows: each
// has weights of its own, which are zero for the rows outside of its kernel. Channels are computed in blocks of a
// vector of bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sdk/cpu/backend/features.h"

namespace ferry::cpu {

struct Int8DepthwiseShape {
  size_t channels;
  size_t kernel, stride;  // in both dimensions; kernel: 3 or 5, stride: 1 or 2
};

struct Int8DepthwiseWeights {
  const int8_t* weight;      // [channels,kernel,kernel]
  const int32_t* bias;       // [channels], or null
  const float* multipliers;  // [channels]: from sums to units of the output's scale
  int32_t zero_point;        // of the input
};

// Output rows [from, to) of one image, for blocks [first_block, end_block) of its channels.
struct Int8DepthwiseRows {
  const int8_t* x;  // row `first` of the input [height,width,channels]; kExtraBytes past its end may be read
  int64_t first;
  int64_t height, width;  // of the input
  int64_t pad_top, pad_left;
  int32_t zero_point;  // of the input
  int8_t* y;           // row `from` of the output
  int64_t from, to, out_width;
  size_t first_block, end_block;
  int32_t out_zero_point, low, high;  // of the output; the bounds are integers
  void* scratch;                      // kInt8DepthwiseScratch bytes, aligned to 64
};

inline constexpr size_t kInt8DepthwiseScratch = 16 << 10;

struct Int8DepthwiseKernel {
  const char* layout;  // of packed weights
  size_t (*blocks)(const Int8DepthwiseShape& shape);
  size_t (*packed_bytes)(const Int8DepthwiseShape& shape);
  void (*pack)(const Int8DepthwiseShape& shape, const Int8DepthwiseWeights& weights, void* packed);
  // packed: aligned to 64.
  void (*compute)(const Int8DepthwiseShape& shape, const void* packed, const Int8DepthwiseRows& rows);
};

// Output rows that share interleaved input: ranges of rows should begin at multiples.
inline size_t int8_depthwise_group(const Int8DepthwiseShape& shape) {
  return ((shape.kernel + 3) / 4 * 4 - shape.kernel) / shape.stride + 1;
}

// Whether there is a kernel for a CPU. Refers to none, so that the linker can leave them out.
inline bool has_int8_depthwise(const CpuFeatures& cpu) { return cpu.avx512_vnni || cpu.avx2 || cpu.dot_products; }

// The fastest kernel for a CPU; null if there is none.
const Int8DepthwiseKernel* int8_depthwise_kernel(const CpuFeatures& cpu);

// One per instruction set; null on other machines.
const Int8DepthwiseKernel* int8_depthwise_dot();  // AVX-512 VNNI or arm64 dot products
const Int8DepthwiseKernel* int8_depthwise_avx2();

}  // namespace ferry::cpu
