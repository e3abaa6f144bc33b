// Rows of elementwise operators on two inputs (binary.cc).
#pragma once

#include <cstddef>

#include "ferry_generated.h"

namespace ferry::cpu {

// A row of the output, float or int32_t. A step is 1, or 0 for a value that repeats.
using BinaryKernel = void (*)(const float* a, size_t step_a, const float* b, size_t step_b, float* out, size_t count,
                              float low, float high);

// Kernels of integers, and of what is rare: small, not fast. Null where binary.cc has a fast one. They do not clamp but
// in Pow and Mod of Float32.
BinaryKernel plain_binary(fbs::BinaryKind kind, bool is_integer);

}  // namespace ferry::cpu
