// What functions of the C API begin and end with: how a Status becomes a ferry_status, and what callers' structs of
// other versions become. It stands on the C API alone, so that libferry_text has the same.
#pragma once

#include <ferry/ferry.h>

#include <algorithm>
#include <cstring>

#include "sdk/api/live.h"
#include "sdk/attempt.h"
#include "sdk/status.h"

namespace ferry {

// Keeps the message of a failure for ferry_last_error() of this thread; returns the code. Takes no memory.
inline ferry_status report(const Status& status) noexcept {
  return status.ok() ? FERRY_OK : ferry_set_last_error(status.code(), status.message().data());
}

// The whole of a function of the C API that may allocate, or its end: what `call` returns, a Status, or
// FERRY_OUT_OF_MEMORY.
template <typename Call>
ferry_status guarded(const Call& call) {
  return report(attempt(call));
}

// Fills a struct that begins with its caller's struct_size: what a newer one has beyond `value` becomes zero, what an
// older one lacks is left out. `first` is the size that the struct had in the first version.
template <typename T>
Status fill_versioned(const T& value, size_t first, const char* type, T* out) {
  const size_t size = out->struct_size;
  if (size < first) return error(FERRY_INVALID_ARGUMENT, "struct_size is %zu: set it to sizeof(%s)", size, type);
  std::memset(static_cast<void*>(out), 0, size);
  std::memcpy(static_cast<void*>(out), &value, std::min(size, sizeof(T)));
  out->struct_size = size;
  return {};
}

// The other way: what a caller's struct of an older version lacks is zero, what a newer one sets and this library does
// not know is refused.
template <typename T>
Status read_versioned(const T& given, size_t first, const char* type, T* value) {
  const size_t size = given.struct_size;
  if (size < first) return error(FERRY_INVALID_ARGUMENT, "struct_size is %zu: set it to sizeof(%s)", size, type);
  const auto* bytes = reinterpret_cast<const unsigned char*>(&given);
  for (size_t i = sizeof(T); i < size; ++i) {
    if (bytes[i] != 0) {
      return error(FERRY_INVALID_ARGUMENT, "%s holds a field that ferry %s does not know (struct_size %zu, not %zu)",
                   type, ferry_version(), size, sizeof(T));
    }
  }
  *value = {};
  std::memcpy(static_cast<void*>(value), &given, std::min(size, sizeof(T)));
  return {};
}

// FERRY_INVALID_ARGUMENT: "function: what is NULL".
inline Status null_argument(const char* function, const char* what) noexcept {
  return error(FERRY_INVALID_ARGUMENT, "%s: %s is NULL", function, what);
}

// FERRY_INVALID_ARGUMENT: "function: what was closed".
inline Status closed_argument(const char* function, const char* what) noexcept {
  return error(FERRY_INVALID_ARGUMENT, "%s: %s was closed before, or never opened", function, what);
}

// Closes a handle; NULL is allowed.
template <typename T>
void close(T* handle, const char* function) {
  if (handle == nullptr || usable(handle)) {
    delete handle;
  } else {
    report(closed_argument(function, "what is to be closed"));
  }
}

}  // namespace ferry

// Ends a function of the C API where a pointer of its caller's is NULL, or a handle that is known to be closed.
#define FERRY_REQUIRE(pointer)                                                                           \
  do {                                                                                                   \
    if ((pointer) == nullptr) return ::ferry::report(::ferry::null_argument(__func__, #pointer));        \
    if (!::ferry::usable(pointer)) return ::ferry::report(::ferry::closed_argument(__func__, #pointer)); \
  } while (false)
