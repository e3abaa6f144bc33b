// Errors inside sdk/: a status code of ferry.h and one sentence. Exceptions are thrown only by the standard library
// when memory runs out, and they end at the C API (sdk/api/guard.h).
#pragma once

#include <ferry/ferry.h>

#include <string_view>
#include <utility>

namespace ferry {

// The size of a pointer. No operation throws: out_of_memory() replaces a sentence that cannot be allocated.
class [[nodiscard]] Status {
 public:
  struct Failure {
    ferry_status code;
    const char* message;
    bool owned = false;  // allocated, and freed by the Status; otherwise a constant
  };

  Status() = default;  // FERRY_OK
  // A failure with a constant sentence. Allocates nothing.
  explicit Status(const Failure& constant) : failure_(&constant) {}
  Status(Status&& other) noexcept : failure_(std::exchange(other.failure_, nullptr)) {}
  Status(const Status& other) noexcept : failure_(copy(other.failure_)) {}
  Status& operator=(Status other) noexcept {
    std::swap(failure_, other.failure_);
    return *this;
  }
  // Inlined, it is nothing where a failure was just ruled out: after each FERRY_TRY. -Os alone would call it.
  [[gnu::always_inline]] ~Status() {
    if (failure_ != nullptr) release();
  }

  static Status out_of_memory() noexcept;

  bool ok() const noexcept { return failure_ == nullptr; }
  ferry_status code() const noexcept { return failure_ != nullptr ? failure_->code : FERRY_OK; }
  // NUL-terminated; "" on success.
  std::string_view message() const noexcept { return failure_ != nullptr ? failure_->message : ""; }

 private:
  friend Status error(ferry_status code, const char* format, ...) noexcept;
  static const Failure* make(ferry_status code, std::string_view message) noexcept;
  static const Failure* copy(const Failure* failure) noexcept;
  void release() noexcept;

  const Failure* failure_ = nullptr;
};

// A failure with a message formatted as by printf: error(FERRY_CORRUPT, "tensor %u: ...", i).
[[gnu::format(printf, 2, 3)]] Status error(ferry_status code, const char* format, ...) noexcept;

}  // namespace ferry

#define FERRY_TRY(expression)                                                           \
  do {                                                                                  \
    if (::ferry::Status try_status = (expression); !try_status.ok()) return try_status; \
  } while (false)
