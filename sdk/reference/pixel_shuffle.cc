#include "sdk/reference/ops.h"

namespace ferry::reference {

void pixel_shuffle(const fbs::Operator& op, Inputs inputs, Array& output) {
  const int64_t r = op.params_as_PixelShuffle()->factor();
  for_each_element(output.shape, [&](size_t index, const Coordinates& at) {
    const int64_t cell = at[1] % r * r + at[2] % r;
    const Coordinates from{at[0], at[1] / r, at[2] / r, cell * output.shape[3] + at[3]};
    output.values[index] = inputs[0]->values[index_of(inputs[0]->shape, from)];
  });
}

}  // namespace ferry::reference
