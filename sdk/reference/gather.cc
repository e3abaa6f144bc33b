#include <algorithm>

#include "sdk/reference/ops.h"

namespace ferry::reference {

size_t gathered_from(fbs::GatherKind kind, int axis, const Array& x, const Array& indices, const Shape& output,
                     const Coordinates& at) {
  const int rank = x.shape.rank, depth = indices.shape.rank == 0 ? 0 : indices.shape[indices.shape.rank - 1];
  const auto index = [&](const Coordinates& of, int dimension) {
    const auto value = static_cast<int64_t>(indices.values[index_of(indices.shape, of)]);
    return value < 0 ? value + x.shape[dimension] : value;
  };
  const auto u = [](int i) { return static_cast<size_t>(i); };
  Coordinates from{}, where{};
  switch (kind) {
    case fbs::GatherKind::Slices:
      std::copy_n(at.begin() + axis, indices.shape.rank, where.begin());
      std::copy_n(at.begin(), axis, from.begin());
      from[u(axis)] = index(where, axis);
      std::copy_n(at.begin() + axis + indices.shape.rank, rank - axis - 1, from.begin() + axis + 1);
      break;
    case fbs::GatherKind::Elements:
      from = at;
      from[u(axis)] = index(at, axis);
      break;
    case fbs::GatherKind::Tuples:
      std::copy_n(at.begin(), indices.shape.rank - 1, where.begin());
      std::copy_n(at.begin(), axis, from.begin());
      for (int k = 0; k < depth; ++k) {
        where[u(indices.shape.rank - 1)] = k;
        from[u(axis + k)] = index(where, axis + k);
      }
      std::copy_n(at.begin() + indices.shape.rank - 1, output.rank - indices.shape.rank + 1,
                  from.begin() + axis + depth);
      break;
  }
  return index_of(x.shape, from);
}

void gather(const fbs::Operator& op, Inputs inputs, Array& output) {
  const fbs::GatherKind kind = op.params_as_Gather()->kind();
  const int axis = op.params_as_Gather()->axis();
  for_each_element(output.shape, [&](size_t index, const Coordinates& at) {
    output.values[index] = inputs[0]->values[gathered_from(kind, axis, *inputs[0], *inputs[1], output.shape, at)];
  });
}

}  // namespace ferry::reference
