// The library's version as text, "0.2.0", from the numbers in ferry.h.
#pragma once

#include <ferry/ferry.h>

#define FERRY_QUOTED(x) #x
#define FERRY_JOINED(major, minor, patch) FERRY_QUOTED(major) "." FERRY_QUOTED(minor) "." FERRY_QUOTED(patch)

namespace ferry {

inline constexpr char kVersion[] = FERRY_JOINED(FERRY_VERSION_MAJOR, FERRY_VERSION_MINOR, FERRY_VERSION_PATCH);

}  // namespace ferry

#undef FERRY_JOINED
#undef FERRY_QUOTED
