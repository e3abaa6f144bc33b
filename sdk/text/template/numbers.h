// Converts numbers to and from text as Python does, in any locale.
#pragma once

#include <cstdint>
#include <string_view>

namespace ferry::jinja {

// What a conversion between a double and its decimal digits costs, in steps (sdk/text/template/work.h).
inline constexpr size_t kFloatSteps = 100;

// A buffer for any of them.
using NumberText = char[40];

std::string_view write_integer(int64_t value, NumberText& text);
// repr(): the shortest digits that parse to the same value; 1.0, 1e-05, 1e+16, inf, nan.
std::string_view write_float(double value, NumberText& text);

// Parses digits in base 2 to 36, without sign or underscores. False: invalid or out of range.
bool read_integer(std::string_view digits, uint32_t base, int64_t* value);
// Parses digits with a point or an exponent, completely: 1, 1.5, .5e-3. False: invalid.
bool read_float(std::string_view text, double* value);
// `value` rounded to a multiple of 10^-places if that is above 1; ties to even. False: the result exceeds 64 bits.
bool round_integer(int64_t value, int64_t places, int64_t* rounded);
// `value` rounded to `places` decimals (negative: tens), by its exact decimal digits; ties to even.
double round_to(double value, int64_t places);

}  // namespace ferry::jinja
