// Products of quantized rows with weights of 4 or 8 bits in blocks of 32 inputs, each with a scale of 16 bits. XNNPACK
// has no such kernels for bytes and none for Float16 scales, and for x86 none that use VNNI.
#pragma once

#include "sdk/cpu/backend/features.h"
#include "sdk/cpu/backend/packing.h"
#include "sdk/cpu/xnnpack/operator.h"

namespace ferry::cpu {

inline constexpr size_t kLinearBlock = 32;  // inputs of a packed block; stored blocks are a multiple

// Packed weights. A panel of 16 outputs has the codes of its blocks, the blocks' scales, the bias, and for each output
// the sum of its weights. A block has groups of four inputs of each output, 64 bytes: of bytes all 8; of nibbles 4,
// whose upper nibbles hold the inputs 16 positions later. All kernels read this layout.
struct BlockWeights {
  const std::byte* packed;
  size_t inputs, outputs, panel_bytes;
  float min, max;
  bool float16;  // scales are Float16, else BFloat16
};

// Rows as quantized by xnn_create_convert_nc_f32_qd8(): integers, and a scale and zero point per row.
// LinearBlocks::run() writes the sum of each block, times the codes' zero point, to `sums`.
struct BlockRows {
  const int8_t* values;
  const xnn_quantization_params* steps;
  int32_t* sums;
  size_t count;
};

// Kernels of one instruction set. compute[i][p] computes 2^p rows with a panel; nibbles are i = 0, bytes i = 1.
struct BlockKernels {
  static constexpr size_t kPowers = 4;
  using Compute = void (*)(const BlockWeights&, const BlockRows&, size_t row, size_t panel, float* y);
  const char* name;
  int byte_zero;                // added to bytes when they are packed
  Compute compute[2][kPowers];  // null: fewer rows at a time
};
const BlockKernels* block_kernels(const CpuFeatures& cpu);
const BlockKernels* block_kernels_avx2();  // x86: with F16C
const BlockKernels* block_kernels_dot();   // x86: VNNI; arm64: dot products

class LinearBlocks {
 public:
  // Maps rows of `inputs` elements to clamped rows of `outputs` elements.
  LinearBlocks(const CpuFeatures& cpu, size_t inputs, size_t outputs, float min, float max)
      : kernels_(*block_kernels(cpu)), inputs_(inputs), outputs_(outputs), min_(min), max_(max) {}

  // Whether the weight has such blocks and no other kernel is as fast.
  static bool pays(const CpuFeatures& cpu, const StoredConstant& weight);

  // `weight`: [outputs,inputs]. `source` loads its bytes (nibbles: with the zero point 8) and the bias.
  // FERRY_UNSUPPORTED: a BFloat16 scale of nibbles is not positive and normal.
  Status create(const StoredConstant& weight, WeightSource& source);

  size_t sums(size_t rows) const { return rows * (inputs_ / kLinearBlock); }
  void run(const BlockRows& rows, float* y, Pool* pool) const;

 private:
  size_t panels() const;
  size_t panel_bytes() const;
  void pack(const uint8_t* codes, const StoredConstant& weight, const float* bias, size_t panel, std::byte* to) const;

  const BlockKernels& kernels_;
  size_t inputs_, outputs_;
  float min_, max_;
  bool nibbles_ = true, float16_ = false;
  PackedBytes packed_;
};

}  // namespace ferry::cpu
