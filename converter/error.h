// The converter's errors: an exception with one sentence that says what was wrong, where, and what is expected.
#pragma once

#include <stdexcept>
#include <string>

namespace ferry {

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// fail("...", ...) throws Error; formatted like printf.
[[noreturn, gnu::format(printf, 1, 2)]] void fail(const char* format, ...);

}  // namespace ferry
