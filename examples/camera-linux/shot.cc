// SPDX-License-Identifier: Apache-2.0
#include "shot.h"

#include <condition_variable>
#include <cstdarg>
#include <cstdio>
#include <mutex>

namespace camera {
namespace {

std::string vtext(const char* format, va_list arguments) {
  va_list again;
  va_copy(again, arguments);
  std::string text(static_cast<size_t>(std::vsnprintf(nullptr, 0, format, again)) + 1, '\0');
  va_end(again);
  std::vsnprintf(text.data(), text.size(), format, arguments);
  text.pop_back();
  return text;
}

}  // namespace

std::string text_of(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::string text = vtext(format, arguments);
  va_end(arguments);
  return text;
}

ferry::Status failure(ferry_status code, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const std::string text = vtext(format, arguments);
  va_end(arguments);
  return ferry_set_last_error(code, text.c_str());
}

bool wait_until(std::stop_token stop, Clock::time_point moment) {
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable_any never;
  never.wait_until(lock, stop, moment, [] { return false; });
  return !stop.stop_requested();
}

}  // namespace camera
