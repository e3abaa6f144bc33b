#include "converter/reference/ops.h"

namespace ferry::reference {

void linear(const fbs::Operator& op, Inputs inputs, Array& output) {
  const fbs::Linear& p = *op.params_as_Linear();
  const auto outs = static_cast<size_t>(inputs[1]->shape[0]), ins = static_cast<size_t>(inputs[1]->shape[1]);
  const size_t rows = inputs[0]->values.size() / ins;
  for (size_t row = 0; row < rows; ++row)
    for (size_t o = 0; o < outs; ++o) {
      double sum = inputs.size() > 2 ? inputs[2]->values[o] : 0.0;
      for (size_t i = 0; i < ins; ++i) sum += inputs[0]->values[row * ins + i] * inputs[1]->values[o * ins + i];
      output.values[row * outs + o] = clamp(sum, p.output_min(), p.output_max());
    }
}

}  // namespace ferry::reference
