#include "sdk/text/template/arena.h"

#include <algorithm>
#include <cstdlib>

namespace ferry::jinja {

struct alignas(std::max_align_t) Arena::Chunk {
  Chunk* next;
};

Arena::~Arena() {
  while (chunks_ != nullptr) {
    Chunk* next = chunks_->next;
    std::free(chunks_);
    chunks_ = next;
  }
}

void* Arena::allocate(size_t bytes) noexcept {
  constexpr size_t kAlignment = alignof(std::max_align_t), kSmallest = size_t{1} << 12, kLargest = size_t{1} << 20;
  if (bytes > limit_) return nullptr;
  bytes = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  if (bytes > left_) {
    // Chunks grow with the total. A larger block gets its own chunk, and the current chunk stays in use.
    const size_t usual = std::clamp(taken_, kSmallest, kLargest);
    const size_t size = std::max(bytes, usual);
    if (taken_ + size > limit_) return nullptr;
    auto* chunk = static_cast<Chunk*>(std::malloc(sizeof(Chunk) + size));
    if (chunk == nullptr) return nullptr;
    taken_ += size;
    chunk->next = chunks_;
    chunks_ = chunk;
    auto* memory = reinterpret_cast<std::byte*>(chunk + 1);
    if (bytes >= usual) return memory;
    free_ = memory;
    left_ = size;
  }
  void* memory = free_;
  free_ += bytes;
  left_ -= bytes;
  return memory;
}

}  // namespace ferry::jinja
