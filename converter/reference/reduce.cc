#include "converter/reference/ops.h"

namespace ferry::reference {

void reduce(const fbs::Operator& op, Inputs inputs, Array& output) {
  const fbs::Reduce& p = *op.params_as_Reduce();
  Shape kept = inputs[0]->shape;  // the output's shape with keep_dims
  for (const int32_t axis : *p.axes()) kept[axis] = 1;
  for_each_place(inputs[0]->shape, [&](size_t index, const Place& at) {
    Place place = at;
    for (const int32_t axis : *p.axes()) place[static_cast<size_t>(axis)] = 0;
    output.values[index_of(kept, place)] += inputs[0]->values[index];
  });
  if (p.kind() == fbs::ReduceKind::Sum) return;
  const double count = static_cast<double>(inputs[0]->values.size() / output.values.size());
  for (double& value : output.values) value /= count;
}

}  // namespace ferry::reference
