// Walks over a tensor's rows: an index counts all rows, strides locate each row in another tensor.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "sdk/operators/shape.h"

namespace ferry::cpu {

// Copies a row. Short rows of whole words avoid the call of memcpy, which takes longer than the copy.
inline void copy_row(void* to, const void* from, size_t bytes) {
  if (bytes > 8 * sizeof(uint32_t) || bytes % sizeof(uint32_t) != 0) {
    std::memcpy(to, from, bytes);
    return;
  }
  for (size_t i = 0; i < bytes; i += sizeof(uint32_t)) {
    uint32_t word;
    std::memcpy(&word, static_cast<const std::byte*>(from) + i, sizeof(word));
    std::memcpy(static_cast<std::byte*>(to) + i, &word, sizeof(word));
  }
}

class Rows {
 public:
  // Appends an inner dimension; stride in elements of the other tensor (0: broadcast).
  void append(size_t size, size_t stride) {
    count_ *= size;
    if (rank_ > 0 && strides_[rank_ - 1] == size * stride) {  // merges both dimensions
      sizes_[rank_ - 1] *= size;
      strides_[rank_ - 1] = stride;
      return;
    }
    sizes_[rank_] = size;
    strides_[rank_++] = stride;
  }

  size_t count() const { return count_; }

  // Offset of row `index` in the other tensor.
  size_t offset(size_t index) const {
    size_t offset = 0;
    for (size_t i = rank_; i-- > 1;) {
      offset += index % sizes_[i] * strides_[i];
      index /= sizes_[i];
    }
    return rank_ == 0 ? 0 : offset + index * strides_[0];
  }

 private:
  size_t rank_ = 0;
  size_t count_ = 1;
  std::array<size_t, FERRY_MAX_RANK> sizes_{}, strides_{};
};

}  // namespace ferry::cpu
