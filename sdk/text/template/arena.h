// Memory that is given back all at once, up to a bound: trees of templates, values.
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

  // Aligned for any value; null where the bound is reached or the system has no more.
  void* allocate(size_t bytes) noexcept;
  size_t limit() const { return limit_; }

 private:
  struct Chunk;
  Chunk* chunks_ = nullptr;  // the newest first
  std::byte* free_ = nullptr;
  size_t left_ = 0;   // bytes at free_
  size_t taken_ = 0;  // from the system
  size_t limit_;
};

}  // namespace ferry::jinja
