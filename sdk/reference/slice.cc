#include "sdk/operators/size_code.h"
#include "sdk/reference/ops.h"

namespace ferry::reference {

void slice(const fbs::Operator& op, Inputs inputs, Array& output) {
  const fbs::Slice& p = *op.params_as_Slice();
  for_each_element(output.shape, [&](size_t index, Coordinates at) {
    for (int i = 0; i < output.shape.rank; ++i)
      at[static_cast<size_t>(i)] += static_cast<int>(slice_begin(p, i, inputs[0]->shape, output.shape[i]));
    output.values[index] = inputs[0]->values[index_of(inputs[0]->shape, at)];
  });
}

}  // namespace ferry::reference
