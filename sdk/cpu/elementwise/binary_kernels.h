// Rows of elementwise operators with two inputs (binary.kernel.cc).
#pragma once

#include <cstddef>

#include "ferry_generated.h"
#include "sdk/cpu/elementwise/float16.h"

namespace ferry::cpu {

// Computes a row of the output, float or int32_t. A step is 1, or 0 for a broadcast value.
using BinaryKernel = void (*)(const float* a, size_t step_a, const float* b, size_t step_b, float* out, size_t count,
                              float low, float high);

// Kernels for integers and for rare kinds: small, not fast. Null if binary.kernel.cc has a fast one. Only Pow and Mod
// of Float32 clamp.
BinaryKernel plain_binary(fbs::BinaryKind kind, bool is_integer);

// A float16 row without broadcast, in float16 arithmetic (ARMv8.2, CpuFeatures::float16). Null for kinds that are
// computed in float32.
using Float16BinaryKernel = void (*)(const Float16* a, const Float16* b, Float16* out, size_t count, float low,
                                     float high);
Float16BinaryKernel float16_binary(fbs::BinaryKind kind);

}  // namespace ferry::cpu
