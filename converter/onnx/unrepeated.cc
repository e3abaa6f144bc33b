#include "converter/onnx/unrepeated.h"

namespace ferry::onnx {

Unrepeated hold_once(const std::vector<double>& values, const Shape& shape, const std::vector<int>& along) {
  Unrepeated once{.shape = shape};
  for (const int i : along) once.shape[i] = 1;
  once.values.resize(static_cast<size_t>(once.shape.elements()));
  std::vector<bool> known(once.values.size());
  for (size_t element = 0; element < values.size(); ++element) {
    size_t rest = element, position = 0, stride = 1;
    for (int i = shape.rank - 1; i >= 0; --i) {
      const size_t size = static_cast<size_t>(shape[i]);
      if (once.shape[i] == shape[i]) {
        position += rest % size * stride;
        stride *= size;
      }
      rest /= size;
    }
    if (!known[position]) once.values[position] = values[element];
    known[position] = true;
    once.alike = once.alike && once.values[position] == values[element];
  }
  return once;
}

bool is_leading_part(const Unrepeated& whole, const Unrepeated& part) {
  if (whole.shape.rank != part.shape.rank) return false;
  for (int i = 0; i < part.shape.rank; ++i)
    if (part.shape[i] > whole.shape[i]) return false;
  for (size_t element = 0; element < part.values.size(); ++element) {
    size_t rest = element, position = 0, stride = 1;
    for (int i = part.shape.rank - 1; i >= 0; --i) {
      position += rest % static_cast<size_t>(part.shape[i]) * stride;
      rest /= static_cast<size_t>(part.shape[i]);
      stride *= static_cast<size_t>(whole.shape[i]);
    }
    if (whole.values[position] != part.values[element]) return false;
  }
  return true;
}

}  // namespace ferry::onnx
