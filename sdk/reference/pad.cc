#include <algorithm>

#include "sdk/reference/ops.h"

namespace ferry::reference {

void pad(const fbs::Operator& op, Inputs inputs, Array& output) {
  const fbs::Pad& p = *op.params_as_Pad();
  std::fill(output.values.begin(), output.values.end(), static_cast<double>(p.value()));
  for_each_element(inputs[0]->shape, [&](size_t index, Coordinates at) {
    for (int i = 0; i < output.shape.rank; ++i) at[static_cast<size_t>(i)] += p.before()->Get(static_cast<unsigned>(i));
    output.values[index_of(output.shape, at)] = inputs[0]->values[index];
  });
}

}  // namespace ferry::reference
