#include "sdk/reference/ops.h"

namespace ferry::reference {

void transpose(const fbs::Operator& op, Inputs inputs, Array& output) {
  const auto& perm = *op.params_as_Transpose()->perm();
  for_each_element(output.shape, [&](size_t index, const Coordinates& at) {
    Coordinates from{};
    for (unsigned i = 0; i < perm.size(); ++i) from[static_cast<size_t>(perm.Get(i))] = at[i];
    output.values[index] = inputs[0]->values[index_of(inputs[0]->shape, from)];
  });
}

}  // namespace ferry::reference
