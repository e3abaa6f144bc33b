// Writes the 16-bit floating-point formats; sdk/model/elements.h reads them.
#pragma once

#include <cstdint>

namespace ferry {

// IEEE 754 binary16, rounded to nearest even; 0x7c00 (infinity) on overflow.
uint16_t to_float16(double value);

// BFloat16: rounded to float32, then to nearest even.
uint16_t to_bfloat16(double value);

}  // namespace ferry
