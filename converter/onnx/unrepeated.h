// Arrays of one kind in several sizes: without repetitions, and as leading parts of each other.
#pragma once

#include <vector>

#include "sdk/operators/shape.h"

namespace ferry::onnx {

// An array without repetitions: dimensions along which all values are equal have size 1.
struct Unrepeated {
  Shape shape;
  std::vector<double> values;
  bool alike = true;  // else values differ along these dimensions, and `values` has the first ones
};

Unrepeated hold_once(const std::vector<double>& values, const Shape& shape, const std::vector<int>& along);
// Whether `part` is the leading part of `whole` in every dimension.
bool is_leading_part(const Unrepeated& whole, const Unrepeated& part);

}  // namespace ferry::onnx
