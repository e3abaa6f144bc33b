// Operators that read by indices.
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
