#include "sdk/reference/ops.h"

namespace ferry::reference {

void concat(const fbs::Operator& op, Inputs inputs, Array& output) {
  const auto axis = static_cast<size_t>(op.params_as_Concat()->axis());
  int64_t begin = 0;
  for (const Array* input : inputs) {
    for_each_element(input->shape, [&](size_t index, Coordinates at) {
      at[axis] += begin;
      output.values[index_of(output.shape, at)] = input->values[index];
    });
    begin += input->shape[static_cast<int>(axis)];
  }
}

}  // namespace ferry::reference
