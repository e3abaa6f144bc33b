#include <algorithm>
#include <cmath>

#include "sdk/reference/ops.h"

namespace ferry::reference {

void softmax(const fbs::Operator&, Inputs inputs, Array& output) {
  const Shape& shape = output.shape;
  const auto row = static_cast<size_t>(shape[shape.rank - 1]);
  for (size_t begin = 0; begin < output.values.size(); begin += row) {
    const double* x = &inputs[0]->values[begin];
    const double largest = *std::max_element(x, x + row);
    double sum = 0;
    for (size_t i = 0; i < row; ++i) sum += output.values[begin + i] = std::exp(x[i] - largest);
    for (size_t i = 0; i < row; ++i) output.values[begin + i] /= sum;
  }
}

}  // namespace ferry::reference
