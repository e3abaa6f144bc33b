// What a template's reading or rendering may take, and the first thing that went wrong with it. Failing, functions give
// any value and callers go on: nothing more is computed, for step() says no and memory is refused. The one who began
// asks status().
#pragma once

#include <cstring>
#include <type_traits>

#include "sdk/status.h"
#include "sdk/text/template/arena.h"
#include "sdk/text/template/value.h"

namespace ferry::jinja {

// Far above what templates need; in time a second or so.
inline constexpr size_t kMaxSourceBytes = size_t{1} << 18;
inline constexpr size_t kMaxTextBytes = size_t{1} << 26;  // of what is rendered, and of JSON
inline constexpr size_t kMaxValueBytes = size_t{1} << 28;
inline constexpr uint64_t kMaxSteps = 10'000'000;
inline constexpr int kMaxGrammarNesting = 200;  // of a template's text; a bracket is four
inline constexpr int kMaxNesting = 100;         // of JSON, and of values that are written or compared
inline constexpr int kMaxCallNesting = 600;     // of what is computed, calls of macros included
inline constexpr int64_t kMaxRange = 100'000;   // as Jinja's sandbox has it

class Work {
 public:
  explicit Work(Arena& arena) : arena_(&arena) {}
  ~Work();
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  bool failed() const { return !status_.ok(); }
  const Status& status() const { return status_; }
  // The first failure stays. "line 3: " stands before the sentence; gives Undefined.
  [[gnu::format(printf, 2, 3)]] Value fail(const char* format, ...);
  void set_failure(const Status& status) {
    if (!failed()) status_ = status;
  }
  uint32_t line = 0;  // of the template; 0: none

  // Counts what is done. False where something failed.
  bool step(size_t count = 1) {
    steps_ += count;
    return steps_ <= kMaxSteps ? !failed() : out_of_steps();
  }
  // A step for every few bytes that are gone through.
  bool step_bytes(size_t bytes) { return step(1 + bytes / 32); }

  // Zeros; null having failed.
  template <typename T>
  T* make(size_t count = 1) {
    static_assert(std::is_trivially_destructible_v<T>);
    return static_cast<T*>(take_memory(sizeof(T), count));
  }
  Value iterator(const Value* items, size_t size);

  // The text that is being written: what is rendered, and behind it strings in the making.
  void append(std::string_view text);
  void append(char c) { append({&c, 1}); }
  size_t length() const { return length_; }
  std::string_view written(size_t from) const { return {text_ + from, length_ - from}; }
  // What was written since, as a string of its own.
  Value take(size_t from);
  void cut(size_t from) { length_ = from; }

 private:
  void* take_memory(size_t size, size_t count);
  bool out_of_steps();

  Arena* arena_;
  Status status_;
  uint64_t steps_ = 0;
  char* text_ = nullptr;
  size_t length_ = 0, capacity_ = 0;
};

}  // namespace ferry::jinja
