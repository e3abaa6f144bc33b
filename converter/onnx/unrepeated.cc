#include "converter/onnx/unrepeated.h"

#include <array>

namespace ferry::onnx {
namespace {

using Steps = std::array<size_t, FERRY_MAX_RANK>;

// From an element to the next one in each dimension, row-major; 0 along dimensions of size 1.
Steps steps_of(const Shape& shape) {
  Steps steps{};
  size_t step = 1;
  for (int i = shape.rank - 1; i >= 0; --i) {
    if (shape[i] != 1) steps[static_cast<size_t>(i)] = step;
    step *= static_cast<size_t>(shape[i]);
  }
  return steps;
}

// Calls `visit` with each element of an array of this shape, in order, and its place by `steps`, until it returns
// false.
template <typename Visit>
void visit_elements(const Shape& shape, const Steps& steps, Visit visit) {
  std::array<int32_t, FERRY_MAX_RANK> position{};
  const auto count = static_cast<size_t>(shape.elements());
  for (size_t element = 0, at = 0; element < count; ++element) {
    if (!visit(element, at)) return;
    for (int i = shape.rank - 1; i >= 0; --i) {
      const auto d = static_cast<size_t>(i);
      at += steps[d];
      if (++position[d] < shape[i]) break;
      at -= steps[d] * static_cast<size_t>(shape[i]);
      position[d] = 0;
    }
  }
}

}  // namespace

Unrepeated hold_once(const std::vector<double>& values, const Shape& shape, const std::vector<int>& along) {
  Unrepeated once{.shape = shape};
  for (const int i : along) once.shape[i] = 1;
  once.values.resize(static_cast<size_t>(once.shape.elements()));
  std::vector<bool> known(once.values.size());
  visit_elements(shape, steps_of(once.shape), [&](size_t element, size_t position) {
    if (!known[position]) once.values[position] = values[element];
    known[position] = true;
    once.alike = once.alike && once.values[position] == values[element];
    return true;
  });
  return once;
}

bool is_leading_part(const Unrepeated& whole, const Unrepeated& part) {
  if (whole.shape.rank != part.shape.rank) return false;
  for (int i = 0; i < part.shape.rank; ++i)
    if (part.shape[i] > whole.shape[i]) return false;
  bool same = true;
  visit_elements(part.shape, steps_of(whole.shape), [&](size_t element, size_t position) {
    return same = whole.values[position] == part.values[element];
  });
  return same;
}

}  // namespace ferry::onnx
