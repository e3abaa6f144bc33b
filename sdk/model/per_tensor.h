// Tables by tensor.
#pragma once

#include <concepts>
#include <cstddef>
#include <vector>

#include "sdk/operators/shape.h"

namespace ferry {

// A value for each tensor of a graph, by the tensor's index in Graph.tensors: an int where it stands for one, and
// counts up to size() in loops over all.
template <typename T>
class PerTensor : private std::vector<T> {
  using Base = std::vector<T>;

 public:
  using Base::assign;
  using Base::Base;
  using Base::begin;
  using Base::empty;
  using Base::end;
  using Base::push_back;
  using Base::reserve;
  using Base::resize;
  using Base::size;

  typename Base::reference operator[](std::integral auto tensor) {
    return Base::operator[](static_cast<size_t>(tensor));
  }
  typename Base::const_reference operator[](std::integral auto tensor) const {
    return Base::operator[](static_cast<size_t>(tensor));
  }
  friend bool operator==(const PerTensor& a, const PerTensor& b) {
    return static_cast<const Base&>(a) == static_cast<const Base&>(b);
  }
};

using Shapes = PerTensor<Shape>;

}  // namespace ferry
