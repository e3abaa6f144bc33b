#include <utility>

#include "sdk/reference/ops.h"

namespace ferry::reference {
namespace {

// The element of a matrix of `array` at (row, column), or at (column, row) where it is transposed.
double element(const Array& array, bool transposed, const Shape& output, Place at, int64_t row, int64_t column) {
  if (transposed) std::swap(row, column);
  const int rank = array.shape.rank;
  Place place{};
  for (int i = 0; i < rank - 2; ++i)
    if (array.shape[i] > 1) place[static_cast<size_t>(i)] = at[static_cast<size_t>(i + output.rank - rank)];
  place[static_cast<size_t>(rank - 2)] = row;
  place[static_cast<size_t>(rank - 1)] = column;
  return array.values[index_of(array.shape, place)];
}

}  // namespace

void matmul(const fbs::Operator& op, Inputs inputs, Array& output) {
  const fbs::MatMul& p = *op.params_as_MatMul();
  const Shape& a = inputs[0]->shape;
  const int64_t depth = a[a.rank - (p.transpose_a() ? 2 : 1)];
  for_each_place(output.shape, [&](size_t index, const Place& at) {
    const auto rank = static_cast<size_t>(output.shape.rank);
    double sum = 0;
    for (int64_t k = 0; k < depth; ++k)
      sum += element(*inputs[0], p.transpose_a(), output.shape, at, at[rank - 2], k) *
             element(*inputs[1], p.transpose_b(), output.shape, at, k, at[rank - 1]);
    output.values[index] = sum;
  });
}

}  // namespace ferry::reference
