// Limits of parsing or rendering a template, and its first failure. After a failure, functions return arbitrary values
// and callers continue without checks: step() returns false, and allocations fail. The outermost caller checks
// status().
//
// Work is counted in steps: at least one per node that is evaluated, one per 32 bytes that are copied, compared or
// hashed, and one per 8 bytes that are read character by character. What is written is counted where it is written
// (append(), take(), make()); what is read is counted before it is read, by read() and same().
#pragma once

#include <cstring>
#include <type_traits>

#include "sdk/status.h"
#include "sdk/text/template/arena.h"
#include "sdk/text/template/value.h"

namespace ferry::jinja {

// Far above what templates need; half a second of time on a desktop's core.
inline constexpr size_t kMaxSourceBytes = size_t{1} << 18;
inline constexpr size_t kMaxTextBytes = size_t{1} << 26;  // rendered text, and JSON
inline constexpr size_t kMaxValueBytes = size_t{1} << 28;
inline constexpr uint64_t kMaxSteps = 10'000'000;
inline constexpr uint64_t kStepBytes = 32;      // read, written, compared or hashed in one step
inline constexpr int kMaxGrammarNesting = 200;  // of a template's syntax; a bracket counts four
inline constexpr int kMaxNesting = 100;         // of JSON, and of values that are written or compared
inline constexpr int kMaxCallNesting = 600;     // of evaluation, including macro calls
inline constexpr int64_t kMaxRange = 100'000;   // as Jinja's sandbox has it

class Work {
 public:
  explicit Work(Arena& arena) : arena_(&arena) {}
  ~Work();
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  bool failed() const { return !status_.ok(); }
  const Status& status() const { return status_; }
  // Records the first failure, with "line 3: " before the message. Returns Undefined.
  [[gnu::format(printf, 2, 3)]] Value fail(const char* format, ...);
  void set_failure(const Status& status) {
    if (!failed()) status_ = status;
  }
  uint32_t line = 0;  // line in the template; 0: none

  // Counts work. False after a failure.
  bool step(size_t count = 1) { return count <= kMaxSteps ? step_bytes(count * kStepBytes) : out_of_steps(); }
  bool step_bytes(uint64_t bytes) {
    if (bytes > left_) return out_of_steps();
    left_ -= bytes;
    return !failed();
  }
  uint64_t steps() const { return kMaxSteps - left_ / kStepBytes; }

  // A string's bytes, to be passed over once as a block. Empty after a failure.
  std::string_view read(const Value& text) { return read(text.uncharged()); }
  std::string_view read(std::string_view text) {
    return step_bytes(kStepBytes + text.size()) ? text : std::string_view();
  }
  // The same, to be decoded character by character.
  std::string_view read_characters(const Value& text) { return read_characters(text.uncharged()); }
  std::string_view read_characters(std::string_view text) {
    return step_bytes(kStepBytes + 4 * text.size()) ? text : std::string_view();
  }
  // Whether two strings are equal. False after a failure.
  bool same(std::string_view a, std::string_view b) {
    return step_bytes(kStepBytes / 8 + (a.size() == b.size() ? a.size() : 0)) && a == b;
  }

  // Zeroed memory; null after a failure.
  template <typename T>
  T* make(size_t count = 1) {
    static_assert(std::is_trivially_destructible_v<T>);
    return static_cast<T*>(take_memory(sizeof(T), count));
  }
  Value iterator(const Value* items, size_t size);

  // The output text: rendered text, followed by strings under construction.
  void append(std::string_view text);
  void append(char c) { append({&c, 1}); }
  size_t length() const { return length_; }
  std::string_view written(size_t from) const { return {text_ + from, length_ - from}; }
  // Removes the output from `from` on, and returns it as a string.
  Value take(size_t from);
  void cut(size_t from) { length_ = from; }

 private:
  void* take_memory(size_t size, size_t count);
  void* allocate(size_t bytes);  // neither charged nor zeroed
  bool out_of_steps();

  Arena* arena_;
  Status status_;
  uint64_t left_ = kMaxSteps * kStepBytes;
  char* text_ = nullptr;
  size_t length_ = 0, capacity_ = 0;
};

}  // namespace ferry::jinja
