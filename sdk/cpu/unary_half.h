// Functions of halves in their own arithmetic, which arm64 has from ARMv8.2 on (CpuFeatures::half).
#pragma once

#include <cstddef>

#include "ferry_generated.h"
#include "sdk/cpu/half.h"

namespace ferry::cpu {

// y may be x.
using HalfFunction = void (*)(const Half* x, Half* y, size_t count);

// None where they are computed as floats.
HalfFunction half_function(fbs::UnaryKind kind);

}  // namespace ferry::cpu
