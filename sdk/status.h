// Errors inside sdk/: a code of ferry.h and one sentence. Values, never exceptions.
#pragma once

#include <ferry/ferry.h>

#include <string>

namespace ferry {

class [[nodiscard]] Status {
 public:
  Status() = default;  // FERRY_OK
  Status(ferry_status code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == FERRY_OK; }
  ferry_status code() const { return code_; }
  const std::string& message() const { return message_; }

 private:
  ferry_status code_ = FERRY_OK;
  std::string message_;
};

// error(FERRY_CORRUPT, "tensor %u: ...", i): the message is formatted as by printf.
[[gnu::format(printf, 2, 3)]] Status error(ferry_status code, const char* format, ...);

}  // namespace ferry

#define FERRY_TRY(expression)                                                           \
  do {                                                                                  \
    if (::ferry::Status try_status = (expression); !try_status.ok()) return try_status; \
  } while (false)
