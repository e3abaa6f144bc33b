// Resolves the indices of gather and scatter operators.
#pragma once

#include <array>
#include <cstdint>

#include "sdk/cpu/ops/rows.h"
#include "sdk/cpu/xnnpack/operator.h"

namespace ferry::cpu {

// Computes where each indexed piece of x begins. All gather kinds are one walk: the offset of piece i is the walk's
// offset (walk_) plus, for each index of its tuple, index * stride.
class GatherIndices {
 public:
  GatherIndices(fbs::GatherKind kind, int axis) : kind_(kind), axis_(axis) {}

  void plan(const Shape& x, const Shape& indices) {
    walk_ = Rows();
    depth_ = 1;
    sizes_[0] = x[axis_];
    strides_[0] = elements(x, axis_ + 1, x.rank);
    piece_ = kind_ == fbs::GatherKind::Elements ? 1 : strides_[0];
    tuples_ = elements(indices);
    if (kind_ == fbs::GatherKind::Slices) {
      walk_.append(elements(x, 0, axis_), static_cast<size_t>(x[axis_]) * strides_[0]);
      walk_.append(tuples_, 0);
    } else if (kind_ == fbs::GatherKind::Elements) {
      for (int i = 0; i < x.rank; ++i)
        walk_.append(static_cast<size_t>(indices[i]), i == axis_ ? 0 : elements(x, i + 1, x.rank));
    } else {
      depth_ = static_cast<size_t>(indices[indices.rank - 1]);
      tuples_ /= depth_;
      for (size_t k = 0; k < depth_; ++k) {
        const int dimension = axis_ + static_cast<int>(k);
        sizes_[k] = x[dimension];
        strides_[k] = elements(x, dimension + 1, x.rank);
      }
      piece_ = strides_[depth_ - 1];
      walk_.append(elements(x, 0, axis_), elements(x, axis_, x.rank));
      walk_.append(elements(indices, axis_, indices.rank - 1), 0);
    }
  }

  size_t count() const { return walk_.count(); }  // of pieces
  size_t piece() const { return piece_; }         // elements of a piece

  // Outputs the offset of piece `i` in x. False: an index is out of range.
  bool find(const int32_t* indices, size_t i, size_t* offset) const {
    *offset = walk_.offset(i);
    const int32_t* tuple = indices + i % tuples_ * depth_;
    for (size_t k = 0; k < depth_; ++k) {
      if (tuple[k] < -sizes_[k] || tuple[k] >= sizes_[k]) return false;
      *offset += static_cast<size_t>(tuple[k] < 0 ? tuple[k] + sizes_[k] : tuple[k]) * strides_[k];
    }
    return true;
  }

  // The error for the first index of piece `i` that is out of range.
  Status outside(const char* op, const int32_t* indices, size_t i) const {
    const int32_t* tuple = indices + i % tuples_ * depth_;
    size_t k = 0;
    while (k + 1 < depth_ && tuple[k] >= -sizes_[k] && tuple[k] < sizes_[k]) ++k;
    return error(FERRY_INVALID_ARGUMENT, "%s: index %d is outside a dimension of %d, expected %d to %d", op, tuple[k],
                 sizes_[k], -sizes_[k], sizes_[k] - 1);
  }

 private:
  fbs::GatherKind kind_;
  int axis_;
  Rows walk_;
  size_t tuples_ = 1, depth_ = 1, piece_ = 1;
  std::array<int32_t, FERRY_MAX_RANK> sizes_{};  // of the dimensions that a tuple indexes
  std::array<size_t, FERRY_MAX_RANK> strides_{};
};

}  // namespace ferry::cpu
