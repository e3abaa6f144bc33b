// Operators that replace parts of a tensor: diagonals, slices, the beginnings of sequences; and counts of boundaries.
#include <algorithm>
#include <numeric>

#include "converter/tflite/ops/ops.h"

namespace ferry::tflite {
namespace {

// 1 on the diagonal.
Tensor diagonal_mask(const Op& op, int32_t rows, int32_t columns) {
  op.count_computed(int64_t{rows} * columns);
  std::vector<int32_t> mask(static_cast<size_t>(rows) * static_cast<size_t>(columns));
  for (int32_t i = 0; i < std::min(rows, columns); ++i)
    mask[static_cast<size_t>(i) * static_cast<size_t>(columns) + static_cast<size_t>(i)] = 1;
  return op.graph().add_constant("", Shape{rows, columns}, std::move(mask));
}

// 0 to `count` - 1, as rows or as a column.
Tensor numbers(const Op& op, int32_t count, const Shape& shape) {
  op.count_computed(count);
  std::vector<int32_t> list(static_cast<size_t>(count));
  std::iota(list.begin(), list.end(), 0);
  return op.graph().add_constant("", shape, std::move(list));
}

// x [...,N] as [...,N,1], one element in each row.
Tensor as_rows(const Op& op, Tensor x) {
  std::vector<int32_t> dims = dims_of(x);
  if (dims.empty()) op.refuse("its diagonal is a scalar");
  dims.push_back(1);
  return reshape_to(x, dims);
}

// `x` with `update` at `starts`, from dimension `axis` on.
Tensor updated(const Op& op, Tensor x, Tensor update, Tensor starts, int axis) {
  const Shape to = x.shape(), from = update.shape();
  while (axis < to.rank && to[axis] == from[axis]) ++axis;
  if (axis == to.rank) return update;
  if (from[axis] > to[axis]) op.refuse("%s does not fit in %s", to_string(from).c_str(), to_string(to).c_str());
  Tensor start = ferry::slice(starts, 0, axis, 1);
  start = binary(fbs::BinaryKind::Max, start, scalar(start, 0));
  start = binary(fbs::BinaryKind::Min, start, scalar(start, to[axis] - from[axis]));
  const Tensor indices = start + numbers(op, from[axis], Shape{from[axis]});
  fbs::GatherT gather;
  gather.axis = axis;
  fbs::ScatterT scatter;
  scatter.where = fbs::GatherKind::Slices;
  scatter.axis = axis;
  scatter.kind = fbs::ScatterKind::Set;
  const Tensor part = updated(op, op.graph().add_op("", gather, {x, indices}), update, starts, axis + 1);
  return op.graph().add_op("", scatter, {x, indices, part});
}

}  // namespace

void matrix_diag(Op& op) {
  const Tensor x = op.tensor(0), rows = as_rows(op, x);
  const int32_t size = x.shape()[x.shape().rank - 1];
  op.set(select(diagonal_mask(op, size, size), rows, scalar(x, 0)));
}

// inputs: matrices [...,N,M], and their new diagonals.
void matrix_set_diag(Op& op) {
  const Tensor x = op.tensor(0);
  const int rank = x.shape().rank;
  if (rank < 2 || op.shape(1).rank != rank - 1)
    op.refuse("diagonals %s of %s", to_string(op.shape(1)).c_str(), to_string(x.shape()).c_str());
  const int32_t height = x.shape()[rank - 2], width = x.shape()[rank - 1], length = op.shape(1)[rank - 2];
  if (length != std::min(height, width)) op.refuse("diagonals of %d elements of %dx%d", length, height, width);
  std::vector<int32_t> before(static_cast<size_t>(rank)), after(static_cast<size_t>(rank));
  after[static_cast<size_t>(rank) - 2] = height - length;
  const Tensor rows = tflite::pad(as_rows(op, op.tensor(1)), before, after);
  op.set(select(diagonal_mask(op, height, width), rows, x));
}

// The number of boundaries up to each element.
void bucketize(Op& op) {
  const auto* list = op.options<schema::BucketizeOptions>().boundaries();
  if (count(list) == 0) op.refuse("it has no boundaries");
  const Tensor x = cast_to(op.tensor(0), fbs::DType::Float32);
  const Tensor boundaries = op.graph().add_constant("", Shape{static_cast<int32_t>(list->size())},
                                                    std::vector<float>(list->begin(), list->end()));
  const Tensor above = binary(fbs::BinaryKind::LessOrEqual, boundaries, as_rows(op, x));
  op.set(reduce(above, fbs::ReduceKind::Sum, {above.shape().rank - 1}, false));
}

// The shape that two shapes broadcast to.
void broadcast_args(Op& op) {
  std::vector<int64_t> a = op.integers(0, "the first shape"), b = op.integers(1, "the second shape");
  if (a.size() < b.size()) std::swap(a, b);
  if (a.size() > FERRY_MAX_RANK || a.empty()) op.refuse("a shape of %zu dimensions", a.size());
  b.insert(b.begin(), a.size() - b.size(), 1);
  std::vector<int32_t> both;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i] && a[i] != 1 && b[i] != 1) op.refuse("shapes that do not broadcast");
    both.push_back(static_cast<int32_t>(a[i] == 1 ? b[i] : a[i]));
  }
  const Shape shape = {static_cast<int32_t>(both.size())};
  op.set(op.graph().add_constant("", shape, std::move(both)));
}

// Of each sequence of a batch, reverses the beginning, as many elements as input 1 has for it.
void reverse_sequence(Op& op) {
  const auto& o = op.options<schema::ReverseSequenceOptions>();
  const Tensor x = op.tensor(0);
  const int rank = x.shape().rank;
  if (rank < 2) op.refuse("its input has %d dimensions", rank);
  const int steps_at = op.axis(o.seq_dim(), rank), batch_at = op.axis(o.batch_dim(), rank);
  if (steps_at == batch_at) op.refuse("its sequences lie along the batch");
  const int32_t steps = x.shape()[steps_at], batch = x.shape()[batch_at];
  if (op.shape(1) != Shape{batch}) op.refuse("lengths %s of %d sequences", to_string(op.shape(1)).c_str(), batch);
  std::vector<int32_t> order = {batch_at, steps_at}, back(static_cast<size_t>(rank));
  for (int d = 0; d < rank; ++d)
    if (d != batch_at && d != steps_at) order.push_back(d);
  for (int d = 0; d < rank; ++d) back[static_cast<size_t>(order[static_cast<size_t>(d)])] = d;
  const Tensor moved = ferry::transpose(x, order);
  const std::vector<int32_t> dims = dims_of(moved);
  const auto rows = static_cast<int32_t>(x.shape().elements() / (int64_t{steps} * batch));
  const Tensor at = numbers(op, steps, Shape{1, steps}), sequence = numbers(op, batch, Shape{batch, 1});
  const Tensor length = reshape_to(op.tensor(1), {batch, 1});
  const Tensor mirrored = length - at - scalar(length, 1);
  const Tensor step = select(binary(fbs::BinaryKind::Less, at, length), mirrored, at);
  const Tensor index = reshape_to(step + sequence * scalar(sequence, steps), {batch * steps});
  const Tensor picked = op.graph().add_op("", fbs::GatherT{}, {reshape_to(moved, {batch * steps, rows}), index});
  op.set(ferry::transpose(reshape_to(picked, dims), back));
}

// inputs: x, an update, and where it begins in each dimension; it is moved inside.
void dynamic_update_slice(Op& op) {
  const Tensor x = op.tensor(0), update = op.tensor(1), starts = op.tensor(2);
  if (x.shape().rank < 1 || update.shape().rank != x.shape().rank || starts.shape() != Shape{x.shape().rank})
    op.refuse("an update %s of %s, at %s", to_string(update.shape()).c_str(), to_string(x.shape()).c_str(),
              to_string(starts.shape()).c_str());
  op.set(updated(op, x, update, starts, 0));
}

}  // namespace ferry::tflite
