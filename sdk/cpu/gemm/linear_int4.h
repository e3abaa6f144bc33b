// Products of quantized rows with 4-bit weights in blocks of 32, by our own kernel for AVX-512 VNNI. XNNPACK's block
// kernels use such instructions on ARM only.
#pragma once

#include "sdk/cpu/backend/features.h"
#include "sdk/cpu/backend/packing.h"
#include "sdk/cpu/xnnpack/operator.h"

#if defined(__x86_64__) && defined(__gnu_linux__)
#define FERRY_HAS_LINEAR_INT4 1
#else
#define FERRY_HAS_LINEAR_INT4 0
#endif

namespace ferry::cpu {

class LinearInt4 {
 public:
  // Maps rows of `inputs` elements to clamped rows of `outputs` elements.
  LinearInt4(size_t inputs, size_t outputs, float min, float max)
      : inputs_(inputs), outputs_(outputs), min_(min), max_(max) {}

  static bool pays(const CpuFeatures& cpu, const Type& weight);

  // `weight`: [outputs,inputs]. `source` loads its bytes (zero point 8) and the bias. FERRY_UNSUPPORTED: a scale is not
  // positive and normal.
  Status create(const StoredConstant& weight, WeightSource& source);

  // Rows as quantized by xnn_create_convert_nc_f32_qd8(): integers, and a scale and zero point per row. run() writes
  // the sum of each block to `sums`.
  struct Rows {
    const int8_t* values;
    const xnn_quantization_params* steps;
    int32_t* sums;
    size_t count;
  };
  size_t sums(size_t rows) const { return rows * (inputs_ / kBlock); }
  void run(const Rows& rows, float* y, Pool* pool) const;

 private:
  static constexpr size_t kBlock = 32;  // inputs that share a scale
  static constexpr size_t kNr = 16;     // outputs that are computed together
  static constexpr size_t kGroups = 4;  // vectors of nibbles in a panel's block
  size_t panels() const { return (outputs_ + kNr - 1) / kNr; }
  size_t panel_bytes() const;
  void pack(const uint8_t* nibbles, const uint16_t* scales, const float* bias, size_t panel, std::byte* to) const;
  template <size_t R>
  void compute(const Rows& rows, size_t row, size_t panel, float* y) const;

  size_t inputs_, outputs_;
  float min_, max_;
  PackedBytes packed_;
};

#if !FERRY_HAS_LINEAR_INT4  // inline, so that the callers' code for it is removed
inline bool LinearInt4::pays(const CpuFeatures&, const Type&) { return false; }
inline Status LinearInt4::create(const StoredConstant&, WeightSource&) { return {}; }
inline void LinearInt4::run(const Rows&, float*, Pool*) const {}
#endif

}  // namespace ferry::cpu
