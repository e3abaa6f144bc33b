#include <algorithm>

#include "sdk/reference/ops.h"
#include "sdk/reference/rounded_rows.h"

namespace ferry::reference {

void linear(const fbs::Operator& op, Inputs inputs, Array& output) {
  const fbs::Linear& p = *op.params_as_Linear();
  const float low = minimum_of(p, *inputs[0]), high = maximum_of(p, *inputs[0]);
  const auto outs = static_cast<size_t>(inputs[1]->shape[0]), ins = static_cast<size_t>(inputs[1]->shape[1]);
  const std::vector<double> rounded =
      inputs[1]->rounds_rows ? rounded_rows(inputs[0]->values, ins) : std::vector<double>();
  const std::vector<double>& x = inputs[1]->rounds_rows ? rounded : inputs[0]->values;
  const size_t rows = x.size() / ins;
  for (size_t row = 0; row < rows; ++row)
    for (size_t o = 0, some; o < outs; o += some) {
      some = std::min<size_t>(4, outs - o);
      double sums[4] = {};
      if (inputs.size() > 2) std::copy_n(&inputs[2]->values[o], some, sums);
      add_products(&x[row * ins], &inputs[1]->values[o * ins], static_cast<int64_t>(ins), static_cast<int64_t>(ins),
                   static_cast<int64_t>(some), sums);
      for (size_t j = 0; j < some; ++j) output.values[row * outs + o + j] = clamp(sums[j], low, high);
    }
}

}  // namespace ferry::reference
