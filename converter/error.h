// The converter's errors: an exception with one sentence that says what was wrong, where, and what is expected.
#pragma once

#include <stdexcept>
#include <string>

#include "sdk/printable.h"

namespace ferry {

class Error : public std::runtime_error {
 public:
  // Names in the sentence come from files: it becomes one line without control characters.
  explicit Error(const std::string& sentence) : std::runtime_error(printable(sentence)) {}
};

// fail("...", ...) throws Error; formatted like printf.
[[noreturn, gnu::format(printf, 1, 2)]] void fail(const char* format, ...);

}  // namespace ferry
