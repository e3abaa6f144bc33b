// Operators that write by indices: dense tensors of sparse ones, and sums and the like of rows by segments.
#include <algorithm>
#include <limits>

#include "converter/tflite/ops/ops.h"

namespace ferry::tflite {
namespace {

// A constant of one value in each element, of the type of `like`.
Tensor filled(const Op& op, const Shape& shape, Tensor like, double value) {
  op.count_computed(shape.elements());
  const auto count = static_cast<size_t>(shape.elements());
  if (like.dtype() == fbs::DType::Int32)
    return op.graph().add_constant("", shape, std::vector<int32_t>(count, static_cast<int32_t>(value)));
  return op.graph().add_constant("", shape, std::vector<float>(count, static_cast<float>(value)));
}

// Shape of `sizes`, each at least 1.
Shape checked_shape(const Op& op, const std::vector<int64_t>& sizes) {
  Shape shape;
  int64_t elements = 1;
  if (sizes.size() > FERRY_MAX_RANK) op.refuse("%zu dimensions, at most %d", sizes.size(), FERRY_MAX_RANK);
  for (const int64_t size : sizes) {
    if (size < 1 || size > INT32_MAX || size > kMaxElements / elements)
      op.refuse("a size of %lld", static_cast<long long>(size));
    elements *= size;
    shape[shape.rank++] = static_cast<int32_t>(size);
  }
  return shape;
}

// Combines the rows of input 0 whose segment (input 1) is the same: [segments,...], `empty` where there is none.
Tensor combined(const Op& op, int64_t segments, fbs::ScatterKind kind, double empty) {
  const Tensor x = op.tensor(0), ids = op.tensor(1);
  const Shape from = x.shape(), of_ids = ids.shape();
  if (of_ids.rank < 1 || of_ids.rank > from.rank ||
      !std::equal(of_ids.dims.begin(), of_ids.dims.begin() + of_ids.rank, from.dims.begin()))
    op.refuse("segments %s of rows %s", to_string(of_ids).c_str(), to_string(from).c_str());
  std::vector<int64_t> sizes = {segments + 1};  // the last one is that of rows without a segment
  const std::vector<int32_t> inner(from.dims.begin() + of_ids.rank, from.dims.begin() + from.rank);
  sizes.insert(sizes.end(), inner.begin(), inner.end());
  const Tensor base = filled(op, checked_shape(op, sizes), x, empty);
  std::vector<int32_t> rows = {static_cast<int32_t>(of_ids.elements())};
  const Tensor list = binary(fbs::BinaryKind::Max, reshape_to(ids, rows), scalar(ids, -1));
  rows.insert(rows.end(), inner.begin(), inner.end());
  fbs::ScatterT params;
  params.where = fbs::GatherKind::Slices;
  params.kind = kind;
  const Tensor all = op.graph().add_op("", params, {base, list, reshape_to(x, rows)});
  return ferry::slice(all, 0, 0, static_cast<int>(segments));
}

void unsorted(Op& op, fbs::ScatterKind kind, double of_floats, double of_integers) {
  const int64_t segments = op.integer(2, "the number of segments");
  if (segments < 1 || segments >= kMaxElements) op.refuse("%lld segments", static_cast<long long>(segments));
  op.set(combined(op, segments, kind, op.tensor(0).dtype() == fbs::DType::Int32 ? of_integers : of_floats));
}

constexpr double kMostFloat = std::numeric_limits<float>::max();
constexpr double kLeastInteger = std::numeric_limits<int32_t>::min(),
                 kMostInteger = std::numeric_limits<int32_t>::max();

}  // namespace

// The segments ascend, so the last one tells their number.
void segment_sum(Op& op) {
  const std::vector<int64_t> ids = op.integers(1, "the segments");
  if (ids.empty() || !std::is_sorted(ids.begin(), ids.end()) || ids[0] < 0 || ids.back() >= kMaxElements - 1)
    op.refuse("its segments do not ascend from 0 or more");
  op.set(combined(op, ids.back() + 1, fbs::ScatterKind::Add, 0));
}

void unsorted_segment_sum(Op& op) { unsorted(op, fbs::ScatterKind::Add, 0, 0); }
void unsorted_segment_prod(Op& op) { unsorted(op, fbs::ScatterKind::Mul, 1, 1); }
void unsorted_segment_max(Op& op) { unsorted(op, fbs::ScatterKind::Max, -kMostFloat, kLeastInteger); }
void unsorted_segment_min(Op& op) { unsorted(op, fbs::ScatterKind::Min, kMostFloat, kMostInteger); }

// inputs: indices, updates, shape; updates of one position are added.
void scatter_nd(Op& op) {
  const Shape shape = checked_shape(op, op.integers(2, "the shape"));
  const Tensor updates = op.tensor(1);
  fbs::ScatterT params;
  params.where = fbs::GatherKind::Tuples;
  params.kind = fbs::ScatterKind::Add;
  op.set(op.graph().add_op("", params, {filled(op, shape, updates, 0), op.tensor(0), updates}));
}

// inputs: indices (one, a list, or a list of tuples), the shape, a value or one for each index, and the value
// elsewhere.
void sparse_to_dense(Op& op) {
  const Shape shape = checked_shape(op, op.integers(1, "the shape"));
  Tensor indices = op.tensor(0), values = op.tensor(2);
  const Shape of = indices.shape();
  const int32_t tuple = of.rank < 2 ? 1 : of[1], count = of.rank < 1 ? 1 : of[0];
  if (of.rank > 2 || tuple != shape.rank || (values.shape().elements() != 1 && values.shape() != Shape{count}))
    op.refuse("indices %s and values %s of a tensor %s", to_string(of).c_str(), to_string(values.shape()).c_str(),
              to_string(shape).c_str());
  if (op.shape(3).elements() != 1) op.refuse("%s default values", to_string(op.shape(3)).c_str());
  const Tensor base = filled(op, shape, values, 0) + op.tensor(3);
  if (values.shape() != Shape{count}) values = filled(op, Shape{count}, values, 0) + values;
  fbs::ScatterT params;
  params.where = fbs::GatherKind::Tuples;
  op.set(op.graph().add_op("", params, {base, reshape_to(indices, {count, tuple}), values}));
}

}  // namespace ferry::tflite
