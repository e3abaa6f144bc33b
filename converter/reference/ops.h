// One function a file; listed in reference.cc. compute() has checked parameters and input shapes, and `output` comes
// with its shape and as many zeros.
#pragma once

#include <span>

#include "converter/reference/reference.h"

namespace ferry::reference {

using Inputs = std::span<const Array* const>;

void conv2d(const fbs::Operator& op, Inputs inputs, Array& output);
void conv_transpose2d(const fbs::Operator& op, Inputs inputs, Array& output);
void linear(const fbs::Operator& op, Inputs inputs, Array& output);
void pool2d(const fbs::Operator& op, Inputs inputs, Array& output);
void unary(const fbs::Operator& op, Inputs inputs, Array& output);
void binary(const fbs::Operator& op, Inputs inputs, Array& output);
void reduce(const fbs::Operator& op, Inputs inputs, Array& output);
void concat(const fbs::Operator& op, Inputs inputs, Array& output);
void pixel_shuffle(const fbs::Operator& op, Inputs inputs, Array& output);
void resize2d(const fbs::Operator& op, Inputs inputs, Array& output);
void pad(const fbs::Operator& op, Inputs inputs, Array& output);
void reshape(const fbs::Operator& op, Inputs inputs, Array& output);
void transpose(const fbs::Operator& op, Inputs inputs, Array& output);
void slice(const fbs::Operator& op, Inputs inputs, Array& output);
void softmax(const fbs::Operator& op, Inputs inputs, Array& output);
void layer_norm(const fbs::Operator& op, Inputs inputs, Array& output);
void group_norm(const fbs::Operator& op, Inputs inputs, Array& output);
void grn(const fbs::Operator& op, Inputs inputs, Array& output);
void attention(const fbs::Operator& op, Inputs inputs, Array& output);
void rotary_embedding(const fbs::Operator& op, Inputs inputs, Array& output);
void window_partition(const fbs::Operator& op, Inputs inputs, Array& output);
void window_reverse(const fbs::Operator& op, Inputs inputs, Array& output);
void cast(const fbs::Operator& op, Inputs inputs, Array& output);
void select(const fbs::Operator& op, Inputs inputs, Array& output);
void top_k(const fbs::Operator& op, Inputs inputs, Array& output);
void gather(const fbs::Operator& op, Inputs inputs, Array& output);
void scatter(const fbs::Operator& op, Inputs inputs, Array& output);
void non_max_suppression(const fbs::Operator& op, Inputs inputs, Array& output);

// ---- places in an array ---------------------------------------------------------------------------------------------

// One coordinate a dimension.
using Place = std::array<int64_t, FERRY_MAX_RANK>;

// The element at `place` of a row-major array.
inline size_t index_of(const Shape& shape, const Place& place) {
  int64_t index = 0;
  for (int i = 0; i < shape.rank; ++i) index = index * shape[i] + place[static_cast<size_t>(i)];
  return static_cast<size_t>(index);
}

// visit(index, place) for every element, in order.
template <typename Visit>
void for_each_place(const Shape& shape, const Visit& visit) {
  Place place{};
  const int64_t count = shape.elements();
  for (int64_t index = 0; index < count; ++index) {
    visit(static_cast<size_t>(index), place);
    for (int i = shape.rank; i-- > 0;) {
      if (++place[static_cast<size_t>(i)] < shape[i]) break;
      place[static_cast<size_t>(i)] = 0;
    }
  }
}

// The element of a smaller array that NumPy's broadcasting puts at `at` of `output`.
inline double broadcast(const Array& array, const Shape& output, const Place& at) {
  Place place{};
  for (int i = 0; i < array.shape.rank; ++i)
    if (array.shape[i] > 1) place[static_cast<size_t>(i)] = at[static_cast<size_t>(i + output.rank - array.shape.rank)];
  return array.values[index_of(array.shape, place)];
}

// What is left of a whole number in 32 bits.
inline double wrapped(int64_t value) { return static_cast<double>(static_cast<int32_t>(static_cast<uint32_t>(value))); }

// Of two whole numbers of 32 bits.
inline double wrapped_product(double a, double b) { return wrapped(static_cast<int64_t>(a) * static_cast<int64_t>(b)); }

inline double clamp(double value, float low, float high) {
  if (value < static_cast<double>(low)) return static_cast<double>(low);
  return value > static_cast<double>(high) ? static_cast<double>(high) : value;
}

}  // namespace ferry::reference
