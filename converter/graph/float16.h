// Writes the 16-bit floating-point formats, and reads many elements of them; sdk/model/elements.h reads one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace ferry {

// IEEE 754 binary16, rounded to nearest even; 0x7c00 (infinity) on overflow.
uint16_t to_float16(double value);

// BFloat16: rounded to float32, then to nearest even.
uint16_t to_bfloat16(double value);

// The same for arrays of elements, many times faster. Bytes may be unaligned; `from` holds float32. The first returns
// whether all results are finite.
bool to_float16(std::span<const std::byte> from, std::byte* to);
void to_bfloat16(std::span<const std::byte> from, std::byte* to);
void from_float16(const std::byte* from, std::span<float> to);
void from_bfloat16(const std::byte* from, std::span<float> to);

}  // namespace ferry
