#include "sdk/text/template/numbers.h"

#include <algorithm>
#include <clocale>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "sdk/text/template/characters.h"

namespace ferry::jinja {
namespace {

// C functions use the decimal point of the app's locale.
char locale_point() { return std::localeconv()->decimal_point[0]; }

}  // namespace

std::string_view write_integer(int64_t value, NumberText& text) {
  return {text, static_cast<size_t>(std::snprintf(text, sizeof text, "%lld", static_cast<long long>(value)))};
}

std::string_view write_float(double value, NumberText& text) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char scientific[40];  // -d.ddde-XX
  // The fewest digits behind the point that parse to the value: if some do, so do more.
  int digits = 0;
  for (int enough = 16; digits < enough;) {
    const int middle = (digits + enough) / 2;
    std::snprintf(scientific, sizeof scientific, "%.*e", middle, value);
    if (std::strtod(scientific, nullptr) == value)
      enough = middle;
    else
      digits = middle + 1;
  }
  std::snprintf(scientific, sizeof scientific, "%.*e", digits, value);
  const int exponent = std::atoi(std::strchr(scientific, 'e') + 1);
  if (exponent < -4 || exponent >= 16) {
    std::snprintf(text, sizeof text, "%.*e", digits, value);
  } else {
    std::snprintf(text, sizeof text, "%.*f", std::max(digits - exponent, 1), value);
  }
  const char point = locale_point();
  std::replace(text, text + std::strlen(text), point, '.');
  return text;
}

bool read_integer(std::string_view digits, uint32_t base, int64_t* value) {
  uint64_t sum = 0;
  if (digits.empty()) return false;
  for (const char c : digits) {
    const char small = static_cast<char>(c | 0x20);
    const uint32_t digit = is_digit(c)                    ? static_cast<uint32_t>(c - '0')
                           : small >= 'a' && small <= 'z' ? static_cast<uint32_t>(small - 'a' + 10)
                                                          : base;
    if (digit >= base || __builtin_mul_overflow(sum, uint64_t{base}, &sum) ||
        __builtin_add_overflow(sum, uint64_t{digit}, &sum) || sum > uint64_t{INT64_MAX})
      return false;
  }
  *value = static_cast<int64_t>(sum);
  return true;
}

bool read_float(std::string_view text, double* value) {
  size_t at = 0, digits = 0;
  const auto skip_digits = [&] {
    const size_t from = at;
    while (at < text.size() && is_digit(text[at])) ++at;
    return at - from;
  };
  digits = skip_digits();
  const size_t point = at;
  if (at < text.size() && text[at] == '.') {
    ++at;
    digits += skip_digits();
  }
  if (digits == 0) return false;
  if (at < text.size() && (text[at] | 0x20) == 'e') {
    ++at;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
    if (skip_digits() == 0) return false;
  }
  char copy[512];  // longer than all digits of a double: further digits have no effect
  if (at != text.size() || text.size() >= sizeof copy) return false;
  std::memcpy(copy, text.data(), text.size());
  copy[text.size()] = '\0';
  if (point < text.size() && copy[point] == '.') copy[point] = locale_point();
  *value = std::strtod(copy, nullptr);
  return true;
}

bool round_integer(int64_t value, int64_t places, int64_t* rounded) {
  *rounded = places < -19 ? 0 : value;
  if (places >= 0 || places < -19) return true;
  uint64_t unit = 1;  // 10^19 has 64 bits
  for (int64_t i = places; i < 0; ++i) unit *= 10;
  const bool negative = value < 0;
  const uint64_t size = negative ? uint64_t{0} - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  const uint64_t rest = size % unit, half = unit / 2;
  uint64_t units = size / unit, result = 0;
  units += rest > half || (rest == half && units % 2 == 1);
  const uint64_t bound = uint64_t{INT64_MAX} + negative;
  if (__builtin_mul_overflow(units, unit, &result) || result > bound) return false;
  *rounded = static_cast<int64_t>(negative ? uint64_t{0} - result : result);
  return true;
}

double round_to(double value, int64_t places) {
  if (!std::isfinite(value) || places > 330) return value;
  if (places < 0) {
    const double unit = std::pow(10.0, static_cast<double>(-std::max<int64_t>(places, -400)));
    return std::isinf(unit) ? 0 : std::nearbyint(value / unit) * unit;
  }
  char text[700];
  std::snprintf(text, sizeof text, "%.*f", static_cast<int>(places), value);
  return std::strtod(text, nullptr);
}

}  // namespace ferry::jinja
