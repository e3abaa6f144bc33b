// Reductions and softmax.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "converter/onnx/ops/evaluate.h"
#include "converter/onnx/ops/ops.h"

namespace ferry::onnx {
namespace {

// The axes to reduce; none: identity.
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

bool keeps(const Op& op) { return op.integer("keepdims", 1) != 0; }

// For an activation, or a value derived from it.
void set_reduced(Op& op, Tensor x, fbs::ReduceKind kind) {
  op.set(wrapped(reduce(x, kind, reduced_axes(op), keeps(op)), op.type(0)));
}

void set_reduced(Op& op, fbs::ReduceKind kind) { set_reduced(op, op.tensor(0), kind); }

Tensor square(Tensor x) { return x.dtype() == fbs::DType::Float32 ? unary(x, fbs::UnaryKind::Square) : x * x; }

// Reduces a constant: starts with `first`, then function(accumulator, element).
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

// Reduces a constant; returns false for an activation.
template <typename Function>
bool fold(Op& op, double first, Function function) {
  if (!op.known(0)) return false;
  const Array& x = op.array(0, "data");
  const std::vector<int> axes = reduced_axes(op);
  if (is_float(x.type)) {
    op.set(folded(x, x.floats(), axes, keeps(op), first, function));
  } else {
    const int64_t of_integers = first == kInfinity    ? std::numeric_limits<int64_t>::max()
                                : first == -kInfinity ? std::numeric_limits<int64_t>::min()
                                                      : static_cast<int64_t>(first);
    op.set(folded(x, x.ints(), axes, keeps(op), of_integers, function));
  }
  return true;
}

double logarithm(double x) { return std::log(x); }
double squareroot(double x) { return std::sqrt(x); }

}  // namespace

// The mean of integers is their sum divided as integers.
void reduce_mean(Op& op) {
  if (op.tensor(0).dtype() != fbs::DType::Int32 || type_size(op.type(0)) < 4)
    return set_reduced(op, fbs::ReduceKind::Mean);
  const Dims dims = op.dims(0);
  int64_t count = 1;
  for (const int axis : reduced_axes(op)) count *= dims[static_cast<size_t>(axis)];
  const Tensor sum = reduce(op.tensor(0), fbs::ReduceKind::Sum, reduced_axes(op), keeps(op));
  const Tensor mean = binary(fbs::BinaryKind::Div, sum, scalar(sum, static_cast<double>(count)));
  op.set(reshape_to(mean, dims_of(sum)));
}

void reduce_sum(Op& op) {
  if (!fold(op, 0, [](auto a, auto b) { return a + b; })) set_reduced(op, fbs::ReduceKind::Sum);
}

void reduce_max(Op& op) {
  if (!fold(op, -kInfinity, [](auto a, auto b) { return a != a || a > b ? a : b; }))
    set_reduced(op, fbs::ReduceKind::Max);
}

void reduce_min(Op& op) {
  if (!fold(op, kInfinity, [](auto a, auto b) { return a != a || a < b ? a : b; }))
    set_reduced(op, fbs::ReduceKind::Min);
}

void reduce_prod(Op& op) {
  if (!fold(op, 1, [](auto a, auto b) { return a * b; })) set_reduced(op, fbs::ReduceKind::Prod);
}

void reduce_log_sum(Op& op) {
  if (!op.known(0))
    return op.set(unary(reduce(op.tensor(0), fbs::ReduceKind::Sum, reduced_axes(op), keeps(op)), fbs::UnaryKind::Log));
  const Array& x = op.array(0, "data");
  op.set(map(folded(x, x.floats(), reduced_axes(op), keeps(op), 0.0, std::plus<>()), logarithm));
}

void reduce_log_sum_exp(Op& op) {
  const std::vector<int> axes = reduced_axes(op);
  if (op.known(0)) {
    const Array& x = op.array(0, "data");
    const auto add = [](double a, double b) {
      const double larger = a != a || a > b ? a : b;
      return std::isinf(larger) ? larger : larger + std::log(std::exp(a - larger) + std::exp(b - larger));
    };
    return op.set(folded(x, x.floats(), axes, keeps(op), -kInfinity, add));
  }
  // Subtracts the maximum first, so that exp does not overflow; a finite one, since infinities have no difference.
  const Tensor x = op.tensor(0);
  const Tensor largest = unary(reduce(x, fbs::ReduceKind::Max, axes, true), fbs::UnaryKind::Clamp,
                               static_cast<double>(std::numeric_limits<float>::lowest()),
                               static_cast<double>(std::numeric_limits<float>::max()));
  const Tensor sum = reduce(unary(x - largest, fbs::UnaryKind::Exp), fbs::ReduceKind::Sum, axes, keeps(op));
  op.set(unary(sum, fbs::UnaryKind::Log) + reshape_to(largest, dims_of(sum)));
}

void reduce_l1(Op& op) {
  if (fold(op, 0, [](auto a, auto b) { return a + (b < 0 ? -b : b); })) return;
  set_reduced(op, unary(op.tensor(0), fbs::UnaryKind::Abs), fbs::ReduceKind::Sum);
}

void reduce_sum_square(Op& op) {
  if (fold(op, 0, [](auto a, auto b) { return a + b * b; })) return;
  set_reduced(op, square(op.tensor(0)), fbs::ReduceKind::Sum);
}

void reduce_l2(Op& op) {
  if (op.known(0)) {
    const Array& x = op.array(0, "data");
    const auto add = [](double a, double b) { return a + b * b; };
    return op.set(map(folded(x, x.floats(), reduced_axes(op), keeps(op), 0.0, add), squareroot));
  }
  const Tensor sum = reduce(square(op.floating(0)), fbs::ReduceKind::Sum, reduced_axes(op), keeps(op));
  op.set(cast_to(unary(sum, fbs::UnaryKind::Sqrt), op.tensor(0).dtype()));
}

// Cumulative sum along an axis: a product with a triangular matrix.
void cum_sum(Op& op) {
  const int axis = op.axis(to_integer(op.single(1, "axis")), op.rank(0));
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
      const int64_t position = static_cast<int64_t>(i) / inner % size;
      for (int64_t p = 0; p < size; ++p)
        if (adds(position, p)) sums[i] += values[static_cast<size_t>(static_cast<int64_t>(i) + (p - position) * inner)];
    }
    return op.set(make_array(x.type, x.dims, sums));
  }
  if (size > 1 << 12) op.refuse("sums over %lld elements, at most 4096", static_cast<long long>(size));
  const Tensor ones = [&] {
    if (op.open_sizes()) {  // computed, as a constant would grow with the square of the length
      std::vector<int64_t> places(static_cast<size_t>(size));
      std::iota(places.begin(), places.end(), 0);
      const Tensor from = op.add_table(make_array(Type::Int64, {size, 1}, places));
      const Tensor to = op.add_table(make_array(Type::Int64, {1, size}, places));
      const Tensor &low = reverse ? to : from, &high = reverse ? from : to;
      const Tensor added = exclusive ? binary(fbs::BinaryKind::Less, low, high)
                                     : unary(binary(fbs::BinaryKind::Less, high, low), fbs::UnaryKind::Not);
      return cast_to(added, fbs::DType::Float32);
    }
    std::vector<double> weight(static_cast<size_t>(size * size), 0.0);
    for (int64_t to = 0; to < size; ++to)
      for (int64_t from = 0; from < size; ++from)
        if (adds(to, from)) weight[static_cast<size_t>(from * size + to)] = 1;
    return op.graph().add_constant(op.node().name + ".ones",
                                   Shape{static_cast<int32_t>(size), static_cast<int32_t>(size)}, weight);
  }();
  Tensor x = swap_with_last(op.floating(0), axis);
  const Dims dims = dims_of(x);
  if (dims.size() == 1) x = reshape_to(x, {1, size});
  Tensor sums = op.graph().add_op("", fbs::MatMulT{}, {x, ones});
  if (dims.size() == 1) sums = reshape_to(sums, dims);
  op.set(cast_to(swap_with_last(sums, axis), op.tensor(0).dtype()));
}

// By products of one slice with the next.
void cum_prod(Op& op) {
  const int axis = op.axis(to_integer(op.single(1, "axis")), op.rank(0));
  const bool exclusive = op.integer("exclusive", 0) != 0, reverse = op.integer("reverse", 0) != 0;
  const auto size = static_cast<int>(op.dims(0)[static_cast<size_t>(axis)]);
  if (size > 256) op.refuse("products of %d elements, at most 256", size);
  const Tensor x = op.tensor(0);
  std::vector<Tensor> parts;
  Tensor product = ferry::slice(x, axis, reverse ? size - 1 : 0, 1);
  if (exclusive)
    product = select(binary(fbs::BinaryKind::Equal, product, product), scalar(product, 1), scalar(product, 1));
  for (int i = 0; i < size; ++i) {
    parts.push_back(product);
    const int next = exclusive ? i : i + 1;
    if (i + 1 < size)
      product = binary(fbs::BinaryKind::Mul, product, ferry::slice(x, axis, reverse ? size - 1 - next : next, 1));
  }
  if (reverse) std::reverse(parts.begin(), parts.end());
  op.set(wrapped(parts.size() == 1 ? parts[0] : ferry::concat(parts, axis), op.type(0)), op.type(0));
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
// The p-norm of each channel.
void global_lp_pool(Op& op) {
  const double p = op.opset() < 2 ? op.number("p", 2) : static_cast<double>(op.integer("p", 2));
  if (!(p >= 1)) op.refuse("attribute 'p' is %g, expected 1 or more", p);
  const Tensor magnitude = unary(op.floating(0), fbs::UnaryKind::Abs);
  const Tensor sums =
      reduce(p == 1 ? magnitude : power(op, magnitude, p), fbs::ReduceKind::Sum, spatial_axes(op), true);
  op.set(p == 1 ? sums : power(op, sums, 1 / p), op.type(0));
}

void global_max_pool(Op& op) { op.set(reduce(op.tensor(0), fbs::ReduceKind::Max, spatial_axes(op), true)); }

namespace {

// Applies a function of the last dimension along the node's axis; before opset 13, over all dimensions from there on.
void over_axis(Op& op, Tensor (*function)(Tensor)) {
  const Dims dims = op.dims(0);
  const Tensor x = op.tensor(0);
  const int axis = op.axis(op.integer("axis", op.opset() >= 13 ? -1 : 1), op.rank(0));
  const int64_t columns = count_elements(Dims(dims.begin() + axis, dims.end()));
  if (op.opset() >= 13 || columns == dims[static_cast<size_t>(axis)])
    return op.set(swap_with_last(function(swap_with_last(x, axis)), axis));
  if (columns == dims.back()) return op.set(function(x));
  op.set(reshape_to(function(reshape_to(x, {count_elements(dims) / columns, columns})), dims));
}

Tensor log_softmax(Tensor x) {
  const std::vector<int> last = {x.shape().rank - 1};
  const Tensor below = x - reduce(x, fbs::ReduceKind::Max, last, true);
  const Tensor sum = reduce(unary(below, fbs::UnaryKind::Exp), fbs::ReduceKind::Sum, last, true);
  return below - unary(sum, fbs::UnaryKind::Log);
}

// One at the first maximum of each row, else zero.
Tensor hardmax(Tensor x) {
  fbs::TopKT best;
  best.k = 1;
  const Tensor position = x.graph->add_op("", best, {x});
  std::vector<int64_t> places(static_cast<size_t>(dims_of(x).back()));
  std::iota(places.begin(), places.end(), 0);
  const Tensor row = add_constant(*x.graph, "", make_vector(places));
  return select(binary(fbs::BinaryKind::Equal, position, row), scalar(x, 1), scalar(x, 0));
}

}  // namespace

void softmax(Op& op) { over_axis(op, ferry::softmax); }
void log_softmax(Op& op) { over_axis(op, log_softmax); }
void hardmax(Op& op) { over_axis(op, hardmax); }

}  // namespace ferry::onnx
