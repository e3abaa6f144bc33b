// The 16-bit floating-point formats, as they are written; sdk/model/numbers.h reads them.
#pragma once

#include <cstdint>

namespace ferry {

// IEEE 754 binary16, rounded to nearest, ties to even; 0x7c00 (infinity) where a finite number is too large.
uint16_t to_float16(double value);

// BFloat16: of the nearest float32, to nearest, ties to even.
uint16_t to_bfloat16(double value);

}  // namespace ferry
