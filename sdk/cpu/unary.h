// Functions of single numbers, for an op of their own or at the end of the op that computes the numbers.
#pragma once

#include <cstddef>

#include "sdk/cpu/half.h"
#include "sdk/cpu/op.h"
#include "sdk/cpu/unary_half.h"

namespace ferry::cpu {

struct Elementwise {
  void (*kernel)(const float* x, float* y, size_t count, float alpha, float beta) = nullptr;
  float alpha = 0, beta = 0;
  HalfFunction halves = nullptr;  // in their own arithmetic; without it they are computed as floats

  explicit operator bool() const { return kernel != nullptr; }
  // y may be x.
  void operator()(const float* x, float* y, size_t count) const { kernel(x, y, count, alpha, beta); }
  void operator()(const Half* x, Half* y, size_t count) const;
};

// Our own kernel; none where the function is left to XNNPACK. `integer`: of 32-bit integers.
[[gnu::cold]] Elementwise elementwise(const CpuFeatures& cpu, const fbs::Unary& params, bool integer = false);

// An op that applies a function, which is there, to every number of its input.
class ElementwiseOp : public Op {
 public:
  explicit ElementwiseOp(const Elementwise& function, bool half = false) : function_(function), half_(half) {}
  [[gnu::cold]] Status reshape(std::span<const Shape> inputs, const Shape& output, Pool* pool,
                               uint64_t* workspace) override;
  [[gnu::cold]] Status setup(std::span<const void* const> inputs, void* output, void* workspace) override;
  Status run(Pool* pool) override;

 private:
  Elementwise function_;
  size_t count_ = 0;
  const void* input_ = nullptr;
  void* output_ = nullptr;
  const bool half_;
};

}  // namespace ferry::cpu
