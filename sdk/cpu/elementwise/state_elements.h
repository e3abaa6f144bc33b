// Elements of a state in memory: unchanged, as float16, or as Int8: for every block of elements a float32 scale,
// followed by its integers. Elements are numbered across all rows, which hold whole blocks.
#pragma once

#include <cstddef>

#include "sdk/operators/shape_rules.h"

namespace ferry::cpu {

struct StateElements {
  fbs::DType dtype = fbs::DType::Float32;
  size_t block = 1;  // of Int8

  StateElements() = default;
  explicit StateElements(const StateShape& state)
      : dtype(state.dtype), block(state.block > 0 ? static_cast<size_t>(state.block) : 1) {}

  bool fewer_bits() const { return dtype != fbs::DType::Float32 && dtype != fbs::DType::Int32; }
  // Whole blocks: `first` and `count` are multiples of the block of Int8. On any CPU.
  void load(const void* state, size_t first, size_t count, float* to) const;
  // Rounds to nearest, ties to even. A block with an infinity or a NaN becomes NaN in Int8.
  void store(const float* from, size_t first, size_t count, void* state) const;
};

}  // namespace ferry::cpu
