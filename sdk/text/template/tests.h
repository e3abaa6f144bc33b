// The tests, after `is`.
#pragma once

#include "sdk/text/template/evaluator.h"

namespace ferry::jinja {

// Index of a test in the table. Fails for an unknown name, with a list of the known ones.
uint8_t find_test(Work& work, uint32_t line, std::string_view name);
const Native& test_at(uint8_t index);

// "no filter is called 'x'; there are: a, b, c"
void fail_unknown(Work& work, uint32_t line, const char* what, std::string_view name, const Native* table,
                  size_t count);

template <size_t N>
uint8_t place_in(const Native (&table)[N], Work& work, uint32_t line, const char* what, std::string_view name) {
  static_assert(N < 256);
  for (size_t i = 0; i < N; ++i)
    if (table[i].name == name) return static_cast<uint8_t>(i);
  fail_unknown(work, line, what, name, table, N);
  return 0;
}

}  // namespace ferry::jinja
