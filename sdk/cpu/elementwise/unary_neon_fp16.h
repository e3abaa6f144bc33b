// Elementwise functions in float16 arithmetic (ARMv8.2, CpuFeatures::float16).
#pragma once

#include <cstddef>

#include "ferry_generated.h"
#include "sdk/cpu/elementwise/float16.h"

namespace ferry::cpu {

// y may be x.
using Float16Function = void (*)(const Float16* x, Float16* y, size_t count);

// Null for functions that are computed in float32.
Float16Function float16_function(fbs::UnaryKind kind);

}  // namespace ferry::cpu
