#include "sdk/text/template/work.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

namespace ferry::jinja {

Work::~Work() { std::free(text_); }

Value Work::fail(const char* format, ...) {
  if (failed()) return {};
  char sentence[900] = {};
  va_list args;
  va_start(args, format);
  std::vsnprintf(sentence, sizeof sentence, format, args);
  va_end(args);
  for (char& c : sentence)  // names may contain newlines
    if (static_cast<unsigned char>(c) < 0x20 && c != '\0') c = ' ';
  status_ = line > 0 ? error(FERRY_INVALID_ARGUMENT, "line %u: %s", line, sentence)
                     : error(FERRY_INVALID_ARGUMENT, "%s", sentence);
  return {};
}

bool Work::out_of_steps() {
  left_ = 0;
  fail("the template takes more than %llu steps", static_cast<unsigned long long>(kMaxSteps));
  return false;
}

void* Work::take_memory(size_t size, size_t count) {
  if (failed()) return nullptr;
  if (count > arena_->limit() / size) {
    fail("values take more than %zu bytes", arena_->limit());
    return nullptr;
  }
  void* memory = step_bytes(kStepBytes / 2 + size * count) ? allocate(size * count) : nullptr;
  if (memory != nullptr) std::memset(memory, 0, size * count);
  return memory;
}

void* Work::allocate(size_t bytes) {
  void* memory = arena_->allocate(bytes);
  if (memory == nullptr) fail("values take more than %zu bytes, or there is no more memory", arena_->limit());
  return memory;
}

Value Work::iterator(const Value* items, size_t size) {
  auto* made = make<Iterator>();
  if (made == nullptr) return {};
  *made = {items, static_cast<uint32_t>(size)};
  return {.type = Type::Iterator, .iterator = made};
}

void Work::append(std::string_view text) {
  if (text.size() > kMaxTextBytes - length_) {
    fail("the text grows beyond %zu bytes", kMaxTextBytes);
    return;
  }
  if (!step_bytes(kStepBytes / 4 + text.size()) || text.empty()) return;
  if (text.size() > capacity_ - length_) {
    const size_t capacity = std::max(length_ + text.size(), std::max<size_t>(2 * capacity_, 1024));
    // The appended text may be part of the output itself.
    const bool own = text_ != nullptr && text.data() >= text_ && text.data() < text_ + length_;
    const auto offset = own ? static_cast<size_t>(text.data() - text_) : 0;
    auto* grown = static_cast<char*>(std::realloc(text_, capacity));
    if (grown == nullptr) {
      set_failure(Status::out_of_memory());
      return;
    }
    text_ = grown;
    capacity_ = capacity;
    if (own) text = {text_ + offset, text.size()};
  }
  std::memcpy(text_ + length_, text.data(), text.size());
  length_ += text.size();
}

Value Work::take(size_t from) {
  const std::string_view text = written(from);
  // append() has charged the bytes once; the copy costs half of that.
  auto* copy = static_cast<char*>(step_bytes((kStepBytes + text.size()) / 2) ? allocate(text.size() + 1) : nullptr);
  if (copy == nullptr) return {};
  if (!text.empty()) std::memcpy(copy, text.data(), text.size());
  length_ = from;
  return string({copy, text.size()});
}

}  // namespace ferry::jinja
