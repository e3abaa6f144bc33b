// One step of a loop; the interpreter repeats it (converter/reference/interpreter.h).
#include "sdk/operators/loops.h"

#include <algorithm>
#include <limits>

#include "sdk/reference/ops.h"

namespace ferry::reference {
namespace {

// Of the inputs of a LoopEnd.
double steps_of(const fbs::Operator& op, Inputs inputs) {
  using At = LoopEndInputs;
  const double count = inputs[At::kCount]->values[0];
  if (count >= 0) return count;
  const bool unlimited = op.params_as_LoopEnd()->unlimited();
  return unlimited ? std::numeric_limits<int32_t>::max() : inputs[At::kExtent]->shape[0];
}

}  // namespace

void loop_begin(const fbs::Operator&, Inputs, Array&) {}  // the index is 0

// The number of steps after this one.
void loop_end(const fbs::Operator& op, Inputs inputs, Array& output) {
  using At = LoopEndInputs;
  const double index = inputs[At::kIndex]->values[0];
  output.values[0] = index < steps_of(op, inputs) ? index + 1 : 0;
}

std::vector<double> loop_output(const fbs::Operator& op, Inputs inputs, const Array& first, size_t index) {
  const fbs::LoopEnd* end = op.params_as_LoopEnd();
  if (end == nullptr) return inputs[LoopBeginInputs::kStates + index - 1]->values;
  using At = LoopEndInputs;
  const auto states = static_cast<size_t>(end->states());
  const bool none = first.values[0] == 0;
  if (index <= states) return inputs[At::kStates + (none ? 0 : states) + index - 1]->values;
  const Array& row = *inputs[At::kStates + states + index - 1];
  std::vector<double> rows(static_cast<size_t>(inputs[At::kExtent]->shape[0]) * row.values.size());
  const size_t before = none ? 0 : (static_cast<size_t>(first.values[0]) - 1) * row.values.size();
  if (!none) std::copy(row.values.begin(), row.values.end(), rows.begin() + static_cast<std::ptrdiff_t>(before));
  return rows;
}

bool another_step(const fbs::Operator& op, Inputs inputs) {
  using At = LoopEndInputs;
  return inputs[At::kIndex]->values[0] + 1 < steps_of(op, inputs) && inputs[At::kCondition]->values[0] != 0;
}

}  // namespace ferry::reference
