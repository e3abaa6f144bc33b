#include "sdk/status.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "sdk/printable.h"

namespace ferry {
namespace {

constexpr Status::Failure kOutOfMemory = {FERRY_OUT_OF_MEMORY,
                                          "out of memory: everything is as it was before the call"};

}  // namespace

Status Status::out_of_memory() noexcept { return Status(kOutOfMemory); }

// The sentence lies behind the failure.
const Status::Failure* Status::make(ferry_status code, std::string_view message) noexcept {
  void* memory = std::malloc(sizeof(Failure) + message.size() + 1);
  if (memory == nullptr) return &kOutOfMemory;
  char* text = static_cast<char*>(memory) + sizeof(Failure);
  std::memcpy(text, message.data(), message.size());
  text[message.size()] = '\0';
  return new (memory) Failure{code, text, true};
}

const Status::Failure* Status::copy(const Failure* failure) noexcept {
  return failure != nullptr && failure->owned ? make(failure->code, failure->message) : failure;
}

void Status::release() noexcept {
  if (failure_->owned) std::free(const_cast<Failure*>(failure_));
}

Status error(ferry_status code, const char* format, ...) noexcept {
  // A sentence with the numbers in it; a longer one (a path, a hostile name) is cut. Names come from files: the
  // sentence stays one line without control characters.
  char text[1024], line[1024];
  va_list args;
  va_start(args, format);
  std::vsnprintf(text, sizeof text, format, args);
  va_end(args);
  Status status;
  status.failure_ = Status::make(code, {line, make_printable(text, Printed::Line, line, sizeof line)});
  return status;
}

}  // namespace ferry
