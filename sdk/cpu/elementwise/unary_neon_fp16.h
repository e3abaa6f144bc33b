// Functions of halves in their own arithmetic, which arm64 has from ARMv8.2 on (CpuFeatures::half).
#pragma once

#include <cstddef>

#include "ferry_generated.h"
#include "sdk/cpu/elementwise/float16.h"

namespace ferry::cpu {

// y may be x.
using Float16Function = void (*)(const Float16* x, Float16* y, size_t count);

// None where they are computed as floats.
Float16Function float16_function(fbs::UnaryKind kind);

}  // namespace ferry::cpu
