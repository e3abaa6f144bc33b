// Operators that return indices: ArgMax, TopK, OneHot.
#include <algorithm>
#include <numeric>

#include "converter/onnx/ops/ops.h"

namespace ferry::onnx {
namespace {

fbs::TopKT best(int64_t k, bool smallest, bool later) {
  fbs::TopKT params;
  params.k = to_int32({k})[0];
  params.smallest = smallest;
  params.later = later;
  return params;
}

void best_place(Op& op, bool smallest) {
  const int axis = op.axis(op.integer("axis", 0), op.rank(0));
  const Tensor rows = swap_with_last(op.tensor(0), axis);
  const fbs::TopKT params = best(1, smallest, op.integer("select_last_index", 0) != 0);
  const Tensor position = swap_with_last(op.graph().add_op("", params, {rows}), axis);
  Dims dims = dims_of(position);
  if (op.integer("keepdims", 1) == 0) dims.erase(dims.begin() + axis);
  op.set(reshape_to(position, dims), Type::Int64);
}

}  // namespace

void arg_max(Op& op) { best_place(op, false); }
void arg_min(Op& op) { best_place(op, true); }

void top_k(Op& op) {
  const int axis = op.axis(op.integer("axis", -1), op.rank(0));
  const int64_t k = op.opset() < 10 ? op.integer("k", 0) : to_integer(op.single(1, "k"));
  if (k < 1 || k > op.dims(0)[static_cast<size_t>(axis)])
    op.refuse("the top %lld of %lld", static_cast<long long>(k),
              static_cast<long long>(op.dims(0)[static_cast<size_t>(axis)]));
  const Tensor rows = swap_with_last(op.tensor(0), axis);
  const fbs::TopKT params = best(k, op.integer("largest", 1) == 0, false);
  const std::vector<Tensor> found = op.graph().add_op_with_outputs("", params, {rows}, 2);
  op.set(0, swap_with_last(found[1], axis), op.type(0));
  op.set(1, swap_with_last(found[0], axis), Type::Int64);
}

// One-hot vectors; negative indices count from the end (from opset 11 on), indices out of range yield zeros.
void one_hot(Op& op) {
  const double depth_given = op.single(1, "depth");
  if (!(depth_given >= 1 && depth_given <= 1 << 24)) op.refuse("depth is %g", depth_given);
  const auto depth = to_integer(depth_given);
  if (count_elements(op.dims(2)) != 2) op.refuse("values are not two");
  Dims dims = op.dims(0);
  const int axis = op.axis(op.integer("axis", -1), static_cast<int>(dims.size()) + 1);
  dims.insert(dims.begin() + axis, 1);
  Dims column(dims.size() - static_cast<size_t>(axis), 1);
  column[0] = depth;
  std::vector<int64_t> positions(static_cast<size_t>(depth));
  std::iota(positions.begin(), positions.end(), 0);
  Tensor index = op.tensor(0);
  if (!is_float(op.type(0)) || op.known()) index = cast_to(index, fbs::DType::Int32);
  index = reshape_to(index, dims);
  const Type type = index.dtype() == fbs::DType::Int32 ? Type::Int64 : Type::Float32;
  const Tensor row = add_constant(op.graph(), op.node().name + ".places", make_array(type, column, positions));
  const Tensor below = binary(fbs::BinaryKind::Less, index, scalar(index, 0));
  const Tensor counted =
      op.opset() < 11 ? index : select(below, index + scalar(index, static_cast<double>(depth)), index);
  const Tensor hit = binary(fbs::BinaryKind::Equal, counted, row), values = op.tensor(2);
  op.set(select(hit, ferry::slice(values, 0, 1, 1), ferry::slice(values, 0, 0, 1)), op.type(2));
}

}  // namespace ferry::onnx
