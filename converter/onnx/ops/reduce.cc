// Reductions and softmax.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "converter/onnx/ops/ops.h"

namespace ferry::onnx {
namespace {

constexpr int kMaxFactors = 256;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

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

// A constant's elements that fall on one of the result's: `first` of none, then function(so far, element).
template <typename T, typename Function>
Array folded(const Array& x, const std::vector<T>& values, const std::vector<int>& axes, bool keep, T first,
             Function function) {
  Dims dims = x.dims, left;
  for (const int a : axes) dims[static_cast<size_t>(a)] = 1;
  for (size_t i = 0; i < dims.size(); ++i)
    if (keep || std::find(axes.begin(), axes.end(), static_cast<int>(i)) == axes.end()) left.push_back(dims[i]);
  const Dims from = strides_of(x.dims), to = strides_of(dims);
  std::vector<T> out(static_cast<size_t>(count_computed(dims)), first);
  for (size_t i = 0; i < values.size(); ++i) {
    int64_t at = 0;
    for (size_t d = 0; d < dims.size(); ++d)
      if (dims[d] != 1) at += static_cast<int64_t>(i) / from[d] % x.dims[d] * to[d];
    T& value = out[static_cast<size_t>(at)];
    value = function(value, values[i]);
  }
  return make_array(x.type, left, out);
}

// Sets the reduction of a constant; false where it is an activation.
template <typename Function>
bool fold(Op& op, double first, Function function) {
  if (!op.known(0)) return false;
  const Array& x = op.array(0, "data");
  const std::vector<int> axes = reduced_axes(op);
  if (is_float(x.type)) {
    op.set(folded(x, x.floats(), axes, keeps(op), first, function));
  } else {
    const int64_t whole = first == kInfinity    ? std::numeric_limits<int64_t>::max()
                          : first == -kInfinity ? std::numeric_limits<int64_t>::min()
                                                : static_cast<int64_t>(first);
    op.set(folded(x, x.ints(), axes, keeps(op), whole, function));
  }
  return true;
}

Array mapped(const Array& x, double (*function)(double)) {
  std::vector<double> values = x.floats();
  for (double& v : values) v = function(v);
  return make_array(x.type, x.dims, values);
}

}  // namespace

void reduce_mean(Op& op) { reduce(op, fbs::ReduceKind::Mean); }

void reduce_sum(Op& op) {
  if (!fold(op, 0, [](auto a, auto b) { return a + b; })) reduce(op, fbs::ReduceKind::Sum);
}

void reduce_max(Op& op) {
  if (!fold(op, -kInfinity, [](auto a, auto b) { return std::max(a, b); }))
    op.set(largest(op.tensor(0), reduced_axes(op), keeps(op)));
}

void reduce_min(Op& op) {
  if (fold(op, kInfinity, [](auto a, auto b) { return std::min(a, b); })) return;
  const Tensor negative = unary(op.tensor(0), fbs::UnaryKind::Neg);
  op.set(unary(largest(negative, reduced_axes(op), keeps(op)), fbs::UnaryKind::Neg));
}

void reduce_prod(Op& op) {
  if (fold(op, 1, [](auto a, auto b) { return a * b; })) return;
  Tensor x = op.tensor(0);
  Dims left;
  const std::vector<int> axes = reduced_axes(op);
  for (size_t i = 0; i < op.dims(0).size(); ++i) {
    const int axis = static_cast<int>(i);
    const bool gone = std::find(axes.begin(), axes.end(), axis) != axes.end();
    if (!gone || keeps(op)) left.push_back(gone ? 1 : op.dims(0)[i]);
    if (!gone) continue;
    const int size = x.shape()[axis];
    if (size > kMaxFactors) op.refuse("%d factors, at most %d are multiplied", size, kMaxFactors);
    const Tensor all = x;
    x = ferry::slice(all, axis, 0, 1);
    for (int k = 1; k < size; ++k) x = x * ferry::slice(all, axis, k, 1);
  }
  op.set(reshape_to(x, left));
}

void reduce_log_sum(Op& op) {
  const Array& x = op.array(0, "data");
  op.set(mapped(folded(x, x.floats(), reduced_axes(op), keeps(op), 0.0, std::plus<>()), std::log));
}

void reduce_log_sum_exp(Op& op) {
  const Array& x = op.array(0, "data");
  const std::vector<int> axes = reduced_axes(op);
  std::vector<double> values = x.floats();
  for (double& v : values) v = std::exp(v);
  op.set(mapped(folded(x, values, axes, keeps(op), 0.0, std::plus<>()), std::log));
}

void reduce_l1(Op& op) {
  if (fold(op, 0, [](auto a, auto b) { return a + (b < 0 ? -b : b); })) return;
  op.set(reduce(unary(op.tensor(0), fbs::UnaryKind::Abs), fbs::ReduceKind::Sum, reduced_axes(op), keeps(op)));
}

void reduce_sum_square(Op& op) {
  if (fold(op, 0, [](auto a, auto b) { return a + b * b; })) return;
  op.set(reduce(unary(op.tensor(0), fbs::UnaryKind::Square), fbs::ReduceKind::Sum, reduced_axes(op), keeps(op)));
}

void reduce_l2(Op& op) {
  if (op.known(0)) {
    const Array& x = op.array(0, "data");
    const auto add = [](double a, double b) { return a + b * b; };
    return op.set(mapped(folded(x, x.floats(), reduced_axes(op), keeps(op), 0.0, add), std::sqrt));
  }
  const Tensor squares = unary(op.tensor(0), fbs::UnaryKind::Square);
  op.set(unary(reduce(squares, fbs::ReduceKind::Sum, reduced_axes(op), keeps(op)), fbs::UnaryKind::Sqrt));
}

// Sums of all elements up to each, along an axis: a product with a triangular matrix.
void cum_sum(Op& op) {
  const int axis = op.axis(static_cast<int64_t>(op.single(1, "axis")), op.rank(0));
  const bool exclusive = op.integer("exclusive", 0) != 0, reverse = op.integer("reverse", 0) != 0;
  const int64_t size = op.dims(0)[static_cast<size_t>(axis)];
  const auto adds = [&](int64_t to, int64_t from) {
    return (reverse ? from > to : from < to) || (from == to && !exclusive);
  };
  if (op.known(0)) {
    const Array& x = op.array(0, "x");
    const int64_t inner = strides_of(x.dims)[static_cast<size_t>(axis)];
    const std::vector<double> values = x.floats();
    std::vector<double> sums(values.size(), 0.0);
    for (size_t i = 0; i < values.size(); ++i) {
      const int64_t place = static_cast<int64_t>(i) / inner % size;
      for (int64_t p = 0; p < size; ++p)
        if (adds(place, p)) sums[i] += values[static_cast<size_t>(static_cast<int64_t>(i) + (p - place) * inner)];
    }
    return op.set(make_array(x.type, x.dims, sums));
  }
  if (size > 1 << 12) op.refuse("sums over %lld elements, at most 4096", static_cast<long long>(size));
  std::vector<double> weight(static_cast<size_t>(size * size), 0.0);
  for (int64_t to = 0; to < size; ++to)
    for (int64_t from = 0; from < size; ++from)
      if (adds(to, from)) weight[static_cast<size_t>(to * size + from)] = 1;
  const Tensor ones = op.graph().add_constant(op.node().name + ".ones",
                                              Shape{static_cast<int32_t>(size), static_cast<int32_t>(size)}, weight);
  op.set(swap_with_last(op.graph().add_op("", fbs::LinearT{}, {swap_with_last(op.tensor(0), axis), ones}), axis));
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
