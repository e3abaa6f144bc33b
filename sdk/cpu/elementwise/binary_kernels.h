// Rows of elementwise operators on two inputs (binary.cc).
#pragma once

#include <cstddef>

#include "ferry_generated.h"
#include "sdk/cpu/elementwise/float16.h"

namespace ferry::cpu {

// A row of the output, float or int32_t. A step is 1, or 0 for a value that repeats.
using BinaryKernel = void (*)(const float* a, size_t step_a, const float* b, size_t step_b, float* out, size_t count,
                              float low, float high);

// Kernels of integers, and of what is rare: small, not fast. Null where binary.cc has a fast one. They do not clamp but
// in Pow and Mod of Float32.
BinaryKernel plain_binary(fbs::BinaryKind kind, bool is_integer);

// A row of halves of which none repeats, in their own arithmetic, which arm64 has from ARMv8.2 on
// (CpuFeatures::half): of what networks do with whole images. Null where rows are computed as floats.
using Float16BinaryKernel = void (*)(const Float16* a, const Float16* b, Float16* out, size_t count, float low,
                                     float high);
Float16BinaryKernel float16_binary(fbs::BinaryKind kind);

}  // namespace ferry::cpu
