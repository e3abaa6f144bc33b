// Operators that read or write by indices.
#include <numeric>

#include "converter/tflite/ops/ops.h"

namespace ferry::tflite {
namespace {

constexpr int64_t kMostClasses = int64_t{1} << 24;

}  // namespace

void gather(Op& op) {
  const auto& o = op.options<schema::GatherOptions>();
  if (o.batch_dims() != 0) op.refuse("its indices differ between batches (batch_dims %d)", o.batch_dims());
  fbs::GatherT params;
  params.axis = op.axis(o.axis(), op.shape(0).rank);
  op.set(op.graph().add_op("", params, {op.tensor(0), op.tensor(1)}));
}

void embedding_lookup(Op& op) { op.set(op.graph().add_op("", fbs::GatherT{}, {op.tensor(1), op.tensor(0)})); }

void gather_nd(Op& op) {
  fbs::GatherT params;
  params.kind = fbs::GatherKind::Tuples;
  op.set(op.graph().add_op("", params, {op.tensor(0), op.tensor(1)}));
}

// inputs: indices, updates, shape; updates of one position are added.
void scatter_nd(Op& op) {
  const std::vector<int64_t> to = op.integers(2, "the shape");
  Shape shape;
  int64_t elements = 1;
  if (to.size() > FERRY_MAX_RANK) op.refuse("%zu dimensions, at most %d", to.size(), FERRY_MAX_RANK);
  for (const int64_t size : to) {
    if (size < 1 || size > kMaxElements / elements) op.refuse("a size of %lld", static_cast<long long>(size));
    elements *= size;
    shape[shape.rank++] = static_cast<int32_t>(size);
  }
  op.count_computed(elements);
  const Tensor updates = op.tensor(1);
  const auto n = static_cast<size_t>(elements);
  const Tensor zeros = updates.dtype() == fbs::DType::Int32
                           ? op.graph().add_constant("", shape, std::vector<int32_t>(n))
                           : op.graph().add_constant("", shape, std::vector<float>(n));
  fbs::ScatterT params;
  params.where = fbs::GatherKind::Tuples;
  params.kind = fbs::ScatterKind::Add;
  op.set(op.graph().add_op("", params, {zeros, op.tensor(0), updates}));
}

// inputs: indices, depth, the value at an index and elsewhere.
void one_hot(Op& op) {
  const int64_t depth = op.integer(1, "the depth");
  std::vector<int32_t> dims = dims_of(op.tensor(0));
  const int rank = static_cast<int>(dims.size());
  const int axis = op.axis(op.options<schema::OneHotOptions>().axis(), rank + 1);
  if (depth < 1 || depth > kMostClasses) op.refuse("a depth of %lld", static_cast<long long>(depth));
  if (axis != rank) op.refuse("its axis is %d, expected the last one", axis);
  std::vector<int32_t> classes(static_cast<size_t>(depth));
  std::iota(classes.begin(), classes.end(), 0);
  dims.push_back(1);
  const Tensor list = op.graph().add_constant("", Shape{static_cast<int32_t>(depth)}, std::move(classes));
  const Tensor hit = binary(fbs::BinaryKind::Equal, reshape_to(op.tensor(0), dims), list);
  op.set(select(hit, op.tensor(2), op.tensor(3)));
}

}  // namespace ferry::tflite
