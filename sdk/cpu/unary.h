// Functions of single numbers, for an op of their own or at the end of the op that computes the numbers.
#pragma once

#include <cstddef>

#include "ferry_generated.h"

namespace ferry::cpu {

struct Elementwise {
  void (*kernel)(const float* x, float* y, size_t count, float alpha, float beta) = nullptr;
  float alpha = 0, beta = 0;

  explicit operator bool() const { return kernel != nullptr; }
  // y may be x.
  void operator()(const float* x, float* y, size_t count) const { kernel(x, y, count, alpha, beta); }
};

// Our own kernel; none where the function is left to XNNPACK. `whole`: of 32-bit integers.
Elementwise elementwise(const fbs::Unary& params, bool whole = false);

}  // namespace ferry::cpu
