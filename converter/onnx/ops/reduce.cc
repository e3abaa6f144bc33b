// Reductions and softmax.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "converter/onnx/ops/ops.h"

namespace ferry::onnx {
namespace {

// The axes that a reduction removes; none: it is the identity.
std::vector<int> reduced_axes(Op& op) {
  const int rank = op.rank(0);
  const auto list = op.input_or_attribute(1, "axes");
  std::vector<int> axes;
  if (list && !list->empty()) axes = op.axes(*list, rank);
  if (axes.empty() && op.integer("noop_with_empty_axes", 0) == 0) {
    axes.resize(static_cast<size_t>(rank));
    std::iota(axes.begin(), axes.end(), 0);
  }
  std::sort(axes.begin(), axes.end());
  return axes;
}

Tensor reduce(Tensor x, fbs::ReduceKind kind, const std::vector<int>& axes, bool keep) {
  if (axes.empty()) return x;
  fbs::ReduceT params;
  params.kind = kind;
  params.axes.assign(axes.begin(), axes.end());
  params.keep_dims = keep;
  return x.graph->add_op("", params, {x});
}

bool keeps(const Op& op) { return op.integer("keepdims", 1) != 0; }

void reduce(Op& op, fbs::ReduceKind kind) { op.set(reduce(op.tensor(0), kind, reduced_axes(op), keeps(op))); }

// The largest along `axes`: a pool over rows that hold them.
Tensor largest(Tensor x, const std::vector<int>& axes, bool keep) {
  if (axes.empty()) return x;
  const Dims dims = dims_of(x);
  std::vector<int32_t> perm;
  Dims left, kept;
  int64_t rows = 1, columns = 1;
  for (size_t i = 0; i < dims.size(); ++i) {
    const bool reduced = std::find(axes.begin(), axes.end(), static_cast<int>(i)) != axes.end();
    if (!reduced) perm.push_back(static_cast<int32_t>(i));
    if (!reduced) left.push_back(dims[i]);
    kept.push_back(reduced ? 1 : dims[i]);
    (reduced ? rows : columns) *= dims[i];
  }
  perm.insert(perm.begin(), axes.begin(), axes.end());
  fbs::Pool2dT pool;
  pool.kernel_h = to_int32({rows})[0];
  pool.stride_h = pool.kernel_h;
  const Tensor table = reshape_to(transpose(x, perm), {1, rows, 1, columns});
  return reshape_to(x.graph->add_op("", pool, {table}), keep ? kept : left);
}

// The product of a constant's elements: of a shape's dimensions.
Array product(const Array& x) {
  int64_t all = 1;
  for (const int64_t v : x.ints()) all *= v;
  return make_array(x.type, {}, std::vector<int64_t>{all});
}

}  // namespace

void reduce_mean(Op& op) { reduce(op, fbs::ReduceKind::Mean); }
void reduce_sum(Op& op) { reduce(op, fbs::ReduceKind::Sum); }

void reduce_max(Op& op) { op.set(largest(op.tensor(0), reduced_axes(op), keeps(op))); }

void reduce_min(Op& op) {
  const Tensor negative = unary(op.tensor(0), fbs::UnaryKind::Neg);
  op.set(unary(largest(negative, reduced_axes(op), keeps(op)), fbs::UnaryKind::Neg));
}

void reduce_prod(Op& op) {
  const Array& x = op.array(0, "data");
  if (is_float(x.type) || x.dims.size() != 1) op.refuse("only vectors of integers are multiplied");
  const Array all = product(x);
  op.set(keeps(op) ? all.reshaped({1}) : all);
}

void reduce_l1(Op& op) {
  op.set(reduce(unary(op.tensor(0), fbs::UnaryKind::Abs), fbs::ReduceKind::Sum, reduced_axes(op), keeps(op)));
}

void reduce_sum_square(Op& op) {
  op.set(reduce(unary(op.tensor(0), fbs::UnaryKind::Square), fbs::ReduceKind::Sum, reduced_axes(op), keeps(op)));
}

void reduce_l2(Op& op) {
  const Tensor squares = unary(op.tensor(0), fbs::UnaryKind::Square);
  op.set(unary(reduce(squares, fbs::ReduceKind::Sum, reduced_axes(op), keeps(op)), fbs::UnaryKind::Sqrt));
}

namespace {

std::vector<int> spatial_axes(Op& op) {
  if (op.rank(0) < 3) op.refuse("an input of %d dimensions, expected 3 or more", op.rank(0));
  std::vector<int> axes(static_cast<size_t>(op.rank(0) - 2));
  std::iota(axes.begin(), axes.end(), 2);
  return axes;
}

}  // namespace

void global_average_pool(Op& op) { op.set(reduce(op.tensor(0), fbs::ReduceKind::Mean, spatial_axes(op), true)); }
void global_max_pool(Op& op) { op.set(largest(op.tensor(0), spatial_axes(op), true)); }

void softmax(Op& op) {
  const Dims dims = op.dims(0);
  const Tensor x = op.tensor(0);
  if (op.opset() >= 13) {
    const int axis = op.axis(op.integer("axis", -1), op.rank(0));
    return op.set(swap_with_last(softmax(swap_with_last(x, axis)), axis));
  }
  // Before opset 13 over all dimensions from `axis` on.
  const int axis = op.axis(op.integer("axis", 1), op.rank(0));
  const int64_t columns = count_elements(Dims(dims.begin() + axis, dims.end()));
  if (columns == dims.back()) return op.set(softmax(x));
  if (columns == dims[static_cast<size_t>(axis)]) return op.set(swap_with_last(softmax(swap_with_last(x, axis)), axis));
  op.set(reshape_to(softmax(reshape_to(x, {count_elements(dims) / columns, columns})), dims));
}

}  // namespace ferry::onnx
