// Errors left of the blob: an exception that carries one sentence - what was wrong, where, what would be right.
#pragma once

#include <stdexcept>
#include <string>

namespace ferry {

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// fail("...", ...) throws Error; formatted as by printf.
[[noreturn, gnu::format(printf, 1, 2)]] void fail(const char* format, ...);

}  // namespace ferry
