// Walks over a tensor's rows: an index counts all rows, strides say where each begins in another tensor.
#pragma once

#include <array>
#include <cstddef>

#include "sdk/operators/shape.h"

namespace ferry::cpu {

class Rows {
 public:
  // Appends an inner dimension; stride in elements of the other tensor (0: it repeats there).
  void append(size_t size, size_t stride) {
    sizes_[rank_] = size;
    strides_[rank_++] = stride;
    count_ *= size;
  }

  size_t count() const { return count_; }

  // Where row `index` begins in the other tensor.
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
