// Prologue and epilogue of C API functions: conversion of Status to ferry_status, and of structs of other versions. It
// depends on the C API only, so that libferry_text can use it.
#pragma once

#include <ferry/ferry.h>

#include <algorithm>
#include <cstring>

#include "sdk/api/live.h"
#include "sdk/attempt.h"
#include "sdk/status.h"

namespace ferry {

// Stores a failure's message for ferry_last_error() of this thread and returns the code. Allocates nothing.
inline ferry_status report(const Status& status) noexcept {
  return status.ok() ? FERRY_OK : ferry_set_last_error(status.code(), status.message().data());
}

// Runs a function of the C API, or the part of it that may allocate. Returns `call`'s Status, or FERRY_OUT_OF_MEMORY if
// it throws.
template <typename Call>
ferry_status guarded(const Call& call) {
  return report(attempt(call));
}

// Copies `value` to a struct that begins with its caller's struct_size. Fields unknown to this library become zero;
// fields that the caller's version lacks are omitted. `first` is the struct's size in its first version.
template <typename T>
Status fill_versioned(const T& value, size_t first, const char* type, T* out) {
  const size_t size = out->struct_size;
  if (size < first) return error(FERRY_INVALID_ARGUMENT, "struct_size is %zu: set it to sizeof(%s)", size, type);
  std::memset(static_cast<void*>(out), 0, size);
  std::memcpy(static_cast<void*>(out), &value, std::min(size, sizeof(T)));
  out->struct_size = size;
  return {};
}

// Copies the caller's struct. Fields that an older version lacks are zero. Non-zero fields unknown to this library are
// refused.
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

// Closes a handle; accepts NULL.
template <typename T>
void close(T* handle, const char* function) {
  if (handle == nullptr || usable(handle)) {
    delete handle;
  } else {
    report(closed_argument(function, "the handle"));
  }
}

}  // namespace ferry

// Returns from a C API function if a pointer is NULL or a handle is known to be closed.
#define FERRY_REQUIRE(pointer)                                                                           \
  do {                                                                                                   \
    if ((pointer) == nullptr) return ::ferry::report(::ferry::null_argument(__func__, #pointer));        \
    if (!::ferry::usable(pointer)) return ::ferry::report(::ferry::closed_argument(__func__, #pointer)); \
  } while (false)
