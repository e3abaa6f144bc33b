#include "sdk/reference/ops.h"

namespace ferry::reference {

void select(const fbs::Operator&, Inputs inputs, Array& output) {
  for_each_element(output.shape, [&](size_t index, const Coordinates& at) {
    const bool first = broadcast(*inputs[0], output.shape, at) != 0;
    output.values[index] = broadcast(*inputs[first ? 1 : 2], output.shape, at);
  });
}

}  // namespace ferry::reference
