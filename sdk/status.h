// Errors inside sdk/: a code of ferry.h and one sentence. Values; the only exceptions are the standard library's where
// memory runs out, and they end at the C API (sdk/api/guard.h).
#pragma once

#include <ferry/ferry.h>

#include <string_view>
#include <utility>

namespace ferry {

// As large as a pointer. No operation of it throws: a sentence that there is no memory for is out_of_memory() instead.
class [[nodiscard]] Status {
 public:
  struct Failure {
    ferry_status code;
    const char* message;
    bool owned = false;  // by the Status that points to it; others are constants
  };

  Status() = default;  // FERRY_OK
  // A failure whose sentence is known beforehand. Takes no memory.
  explicit Status(const Failure& constant) : failure_(&constant) {}
  Status(Status&& other) noexcept : failure_(std::exchange(other.failure_, nullptr)) {}
  Status(const Status& other) noexcept : failure_(copy(other.failure_)) {}
  Status& operator=(Status other) noexcept {
    std::swap(failure_, other.failure_);
    return *this;
  }
  ~Status() {
    if (failure_ != nullptr) release();
  }

  static Status out_of_memory() noexcept;

  bool ok() const noexcept { return failure_ == nullptr; }
  ferry_status code() const noexcept { return failure_ != nullptr ? failure_->code : FERRY_OK; }
  // Ends with a zero; "" where all is well.
  std::string_view message() const noexcept { return failure_ != nullptr ? failure_->message : ""; }

 private:
  friend Status error(ferry_status code, const char* format, ...) noexcept;
  static const Failure* make(ferry_status code, std::string_view message) noexcept;
  static const Failure* copy(const Failure* failure) noexcept;
  void release() noexcept;

  const Failure* failure_ = nullptr;
};

// error(FERRY_CORRUPT, "tensor %u: ...", i): the message is formatted as by printf.
[[gnu::format(printf, 2, 3)]] Status error(ferry_status code, const char* format, ...) noexcept;

}  // namespace ferry

#define FERRY_TRY(expression)                                                           \
  do {                                                                                  \
    if (::ferry::Status try_status = (expression); !try_status.ok()) return try_status; \
  } while (false)
