#include <algorithm>

#include "converter/reference/ops.h"

namespace ferry::reference {
namespace {

double apply(fbs::BinaryKind kind, double a, double b) {
  switch (kind) {
    case fbs::BinaryKind::Add: return a + b;
    case fbs::BinaryKind::Sub: return a - b;
    case fbs::BinaryKind::Mul: return a * b;
    case fbs::BinaryKind::Div: return a / b;
    case fbs::BinaryKind::Max: return std::max(a, b);
    case fbs::BinaryKind::Min: return std::min(a, b);
    case fbs::BinaryKind::PRelu: return a > 0 ? a : a * b;
  }
  return 0.0;
}

// The element of a smaller array that NumPy's broadcasting puts at `at`.
double broadcast(const Array& array, const Shape& output, const Place& at) {
  Place place{};
  for (int i = 0; i < array.shape.rank; ++i)
    if (array.shape[i] > 1) place[static_cast<size_t>(i)] = at[static_cast<size_t>(i + output.rank - array.shape.rank)];
  return array.values[index_of(array.shape, place)];
}

}  // namespace

void binary(const fbs::Operator& op, Inputs inputs, Array& output) {
  const fbs::Binary& p = *op.params_as_Binary();
  for_each_place(output.shape, [&](size_t index, const Place& at) {
    const double value =
        apply(p.kind(), broadcast(*inputs[0], output.shape, at), broadcast(*inputs[1], output.shape, at));
    output.values[index] = clamp(value, p.output_min(), p.output_max());
  });
}

}  // namespace ferry::reference
