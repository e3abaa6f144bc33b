// Numbers as text: as Python writes and reads them, in any locale.
#pragma once

#include <cstdint>
#include <string_view>

namespace ferry::jinja {

// Room for any of them.
using NumberText = char[40];

std::string_view write_integer(int64_t value, NumberText& text);
// repr(): the fewest digits that are read back as the same number; 1.0, 1e-05, 1e+16, inf, nan.
std::string_view write_float(double value, NumberText& text);

// Digits of a base of 2 to 36 (no sign, no underscores). False where it is none, or more than `*value` holds.
bool read_integer(std::string_view digits, uint32_t base, int64_t* value);
// Digits, a point and an exponent, all of them: 1, 1.5, .5e-3. False where it is no such number.
bool read_float(std::string_view text, double* value);
// `value` with so many places (negative: tens), by the decimal digits that it has; half to even.
double round_to(double value, int64_t places);

}  // namespace ferry::jinja
