#include "sdk/reference/ops.h"
#include "sdk/reference/rounded_rows.h"

namespace ferry::reference {

void linear(const fbs::Operator& op, Inputs inputs, Array& output) {
  const fbs::Linear& p = *op.params_as_Linear();
  const auto outs = static_cast<size_t>(inputs[1]->shape[0]), ins = static_cast<size_t>(inputs[1]->shape[1]);
  const std::vector<double> rounded =
      inputs[1]->rounds_rows ? rounded_rows(inputs[0]->values, ins) : std::vector<double>();
  const std::vector<double>& x = inputs[1]->rounds_rows ? rounded : inputs[0]->values;
  const size_t rows = x.size() / ins;
  for (size_t row = 0; row < rows; ++row)
    for (size_t o = 0; o < outs; ++o) {
      double sum = inputs.size() > 2 ? inputs[2]->values[o] : 0.0;
      for (size_t i = 0; i < ins; ++i) sum += x[row * ins + i] * inputs[1]->values[o * ins + i];
      output.values[row * outs + o] = clamp(sum, p.output_min(), p.output_max());
    }
}

}  // namespace ferry::reference
