#include "sdk/status.h"

#include <cstdarg>
#include <cstdio>

namespace ferry {

Status error(ferry_status code, const char* format, ...) {
  // A sentence with the numbers in it; a longer one (a path, a hostile name) is cut.
  char text[1024];
  va_list args;
  va_start(args, format);
  std::vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return {code, text};
}

}  // namespace ferry
