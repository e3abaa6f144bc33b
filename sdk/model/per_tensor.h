// Tables indexed by tensor.
#pragma once

#include <cstddef>
#include <vector>

#include "sdk/model/tensor_id.h"
#include "sdk/operators/shape.h"

namespace ferry {

// One value per tensor of a graph.
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

  TensorIds ids() const { return TensorIds(size()); }
  typename Base::reference operator[](TensorId tensor) { return Base::operator[](index_of(tensor)); }
  typename Base::const_reference operator[](TensorId tensor) const { return Base::operator[](index_of(tensor)); }
  friend bool operator==(const PerTensor& a, const PerTensor& b) {
    return static_cast<const Base&>(a) == static_cast<const Base&>(b);
  }
};

using Shapes = PerTensor<Shape>;

}  // namespace ferry
