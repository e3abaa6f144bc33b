#include <utility>

#include "sdk/reference/ops.h"

namespace ferry::reference {
namespace {

// The address of the element at (row, column) of the matrix of `array` that belongs to `at`, or at (column, row) if it
// is transposed.
const double* element(const Array& array, bool transposed, const Shape& output, const Coordinates& at, int64_t row,
                      int64_t column) {
  if (transposed) std::swap(row, column);
  const int rank = array.shape.rank;
  Coordinates from{};
  for (int i = 0; i < rank - 2; ++i)
    if (array.shape[i] > 1) from[static_cast<size_t>(i)] = at[static_cast<size_t>(i + output.rank - rank)];
  from[static_cast<size_t>(rank - 2)] = row;
  from[static_cast<size_t>(rank - 1)] = column;
  return &array.values[index_of(array.shape, from)];
}

}  // namespace

void matmul(const fbs::Operator& op, Inputs inputs, Array& output) {
  const fbs::MatMul& p = *op.params_as_MatMul();
  const Shape& a = inputs[0]->shape;
  const Shape& b = inputs[1]->shape;
  const int64_t depth = a[a.rank - (p.transpose_a() ? 2 : 1)];
  const int64_t step_a = p.transpose_a() ? a[a.rank - 1] : 1, step_b = p.transpose_b() ? 1 : b[b.rank - 1];
  for_each_element(output.shape, [&](size_t index, const Coordinates& at) {
    const auto rank = static_cast<size_t>(output.shape.rank);
    const double* from_a = element(*inputs[0], p.transpose_a(), output.shape, at, at[rank - 2], 0);
    const double* from_b = element(*inputs[1], p.transpose_b(), output.shape, at, 0, at[rank - 1]);
    double sum = 0;
    for (int64_t k = 0; k < depth; ++k) sum += from_a[k * step_a] * from_b[k * step_b];
    output.values[index] = sum;
  });
}

}  // namespace ferry::reference
