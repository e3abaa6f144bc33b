// The tests, after `is`.
#pragma once

#include "sdk/text/template/evaluator.h"

namespace ferry::jinja {

// Index of a test in the table; kUnknown: there is none of that name.
uint8_t find_test(std::string_view name);
const Native& test_at(uint8_t index);
// "no test is called 'x'; there are: a, b, c"
Value fail_unknown_test(Work& work, uint32_t line, std::string_view name);

// The same for any table.
Value fail_unknown(Work& work, uint32_t line, const char* what, std::string_view name, const Native* table,
                   size_t count);

template <size_t N>
uint8_t place_in(const Native (&table)[N], std::string_view name) {
  static_assert(N <= kUnknown);
  for (size_t i = 0; i < N; ++i)
    if (table[i].name == name) return static_cast<uint8_t>(i);
  return kUnknown;
}

}  // namespace ferry::jinja
