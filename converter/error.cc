#include "converter/error.h"

#include <cstdarg>
#include <cstdio>
#include <vector>

namespace ferry {

void fail(const char* format, ...) {
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  std::vector<char> text(static_cast<size_t>(std::vsnprintf(nullptr, 0, format, args)) + 1);
  std::vsnprintf(text.data(), text.size(), format, again);
  va_end(again);
  va_end(args);
  throw Error(text.data());
}

}  // namespace ferry
