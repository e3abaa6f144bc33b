#include "sdk/reference/ops.h"

namespace ferry::reference {

void rotary_embedding(const fbs::Operator& op, Inputs inputs, Array& output) {
  const fbs::RotaryEmbedding& p = *op.params_as_RotaryEmbedding();
  const bool interleaved = p.interleaved();
  const std::vector<double>& x = inputs[0]->values;
  const Shape& table = inputs[1]->shape;
  const auto size = static_cast<size_t>(table[1]), half = size / 2;
  for_each_element(output.shape, [&](size_t index, const Coordinates& at) {
    const size_t d = static_cast<size_t>(at[2]) % size;
    const bool first = interleaved ? d % 2 == 0 : d < half;
    const size_t step = interleaved ? 1 : half;
    const double turned = first ? -x[index + step] : x[index - step];
    const size_t entry = index_of(table, {at[1], static_cast<int64_t>(d)});
    output.values[index] = x[index] * inputs[1]->values[entry] + turned * inputs[2]->values[entry];
  });
}

}  // namespace ferry::reference
