// Elementwise functions, for an operator of their own or fused into the operator that computes their input.
#pragma once

#include <cstddef>

#include "sdk/cpu/backend/op.h"
#include "sdk/cpu/elementwise/float16.h"
#include "sdk/cpu/elementwise/unary_neon_fp16.h"

namespace ferry::cpu {

// Above, HardSwish is x: six times x could overflow.
inline constexpr float kHardSwishLinear = 0x1p100f;

struct Elementwise {
  void (*kernel)(const float* x, float* y, size_t count, float alpha, float beta) = nullptr;
  float alpha = 0, beta = 0;
  Float16Function float16s = nullptr;  // in float16 arithmetic; null: computed in float32

  explicit operator bool() const { return kernel != nullptr; }
  // y may be x.
  void operator()(const float* x, float* y, size_t count) const { kernel(x, y, count, alpha, beta); }
  void operator()(const Float16* x, Float16* y, size_t count) const;
};

// Our kernel for this function, or null to use XNNPACK's. `integer`: for Int32.
[[gnu::cold]] Elementwise elementwise(const CpuFeatures& cpu, const fbs::Unary& params, bool integer = false);

// Applies a non-null elementwise function to every element of its input.
class ElementwiseOp : public Op {
 public:
  explicit ElementwiseOp(const Elementwise& function, bool float16 = false) : function_(function), float16_(float16) {}
  [[gnu::cold]] Status reshape(std::span<const Shape> inputs, const Shape& output, Pool* pool,
                               uint64_t* workspace) override;
  [[gnu::cold]] Status setup(std::span<const void* const> inputs, void* output, void* workspace) override;
  Status run(Pool* pool) override;

 private:
  Elementwise function_;
  size_t count_ = 0;
  const void* input_ = nullptr;
  void* output_ = nullptr;
  const bool float16_;
};

}  // namespace ferry::cpu
