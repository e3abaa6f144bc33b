// Memory that is freed all at once, up to a limit: for template trees and values.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ferry::jinja {

class Arena {
 public:
  explicit Arena(size_t limit) : limit_(limit) {}
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Aligned for any value; null at the limit or if the system is out of memory.
  void* allocate(size_t bytes) noexcept;
  size_t limit() const { return limit_; }

 private:
  struct Chunk;
  Chunk* chunks_ = nullptr;  // newest first
  std::byte* free_ = nullptr;
  size_t left_ = 0;   // bytes at free_
  size_t taken_ = 0;  // allocated from the system
  size_t limit_;
};

}  // namespace ferry::jinja
