// What the opaque handles of ferry.h hold, and how a Status becomes a ferry_status.
#pragma once

#include <ferry/ferry.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>

#include "sdk/api/async.h"
#include "sdk/attempt.h"
#include "sdk/graph/session.h"
#include "sdk/graph/states.h"
#include "sdk/model/model.h"
#include "sdk/status.h"
#include "sdk/text/tokenizer.h"

struct ferry_model {
  std::shared_ptr<const ferry::Model> model;
  // Made when somebody first asks for it (sdk/api/text.cc).
  mutable std::mutex tokenizer_mutex = {};
  mutable std::shared_ptr<const ferry::Tokenizer> tokenizer = {};
};

struct ferry_session {
  // Once no run is under way.
  ferry::Session& idle() const {
    async.settle(*session);
    return *session;
  }

  std::unique_ptr<ferry::Session> session;  // keeps its model alive
  mutable ferry::AsyncRuns async;           // after what it runs: it ends before
};

struct ferry_states {
  std::shared_ptr<ferry::States> states;
};

namespace ferry {

// Keeps the message of a failure for ferry_last_error() of this thread; returns the code. Takes no memory.
ferry_status report(const Status& status) noexcept;

// The whole of a function of the C API that may allocate, or its end: what `call` returns, a Status, or
// FERRY_OUT_OF_MEMORY.
template <typename Call>
ferry_status guarded(const Call& call) {
  return report(attempt(call));
}

// A port of `model` as the outside sees it.
ferry_tensor describe(const Model& model, const fbs::Port& port, const Shape& shape, void* data);

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

// Options of a caller built against this or another version of ferry.h: what an older one did not know keeps its
// default, what a newer one sets and this library does not know is refused. `given` may be NULL.
Status read_options(const ferry_session_options* given, ferry_session_options* options);

// ferry_session_create() inside the library.
Status create_session(const ferry_model& model, const ferry_session_options* options,
                      std::unique_ptr<ferry_session>* session);

// FERRY_INVALID_ARGUMENT: "function: what is NULL".
Status null_argument(const char* function, const char* what) noexcept;

}  // namespace ferry

// Ends a function of the C API where a pointer of its caller's is NULL.
#define FERRY_REQUIRE(pointer)                                                                    \
  do {                                                                                            \
    if ((pointer) == nullptr) return ::ferry::report(::ferry::null_argument(__func__, #pointer)); \
  } while (false)
