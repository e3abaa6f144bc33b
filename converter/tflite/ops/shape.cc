// Operators that change shapes only, and those that make constants.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "converter/tflite/ops/ops.h"

namespace ferry::tflite {
namespace {

constexpr int32_t kMostCopies = 1 << 12;  // of a tensor along a dimension

std::vector<int32_t> sizes_of(const Op& op, const std::vector<int64_t>& list, const char* what) {
  std::vector<int32_t> sizes;
  int64_t elements = 1;
  if (list.size() > FERRY_MAX_RANK) op.refuse("%s has %zu sizes, at most %d", what, list.size(), FERRY_MAX_RANK);
  for (const int64_t size : list) {
    if (size < 1 || size > kMaxElements / elements)
      op.refuse("%s has a size of %lld", what, static_cast<long long>(size));
    elements *= size;
    sizes.push_back(static_cast<int32_t>(size));
  }
  return sizes;
}

// -1, once, is what is left over.
std::vector<int32_t> target_of(const Op& op, std::vector<int64_t> to) {
  const int64_t all = op.shape(0).elements();
  int64_t others = 1;
  int unknown = 0;
  for (const int64_t size : to) {
    if (size == -1) ++unknown;
    if (size > 0 && others <= all) others *= size;
  }
  if (unknown > 1 || (unknown == 1 && all % others != 0))
    op.refuse("%lld elements do not fit the new shape", static_cast<long long>(all));
  std::replace(to.begin(), to.end(), int64_t{-1}, all / others);
  return sizes_of(op, to, "the new shape");
}

Tensor constant(const Op& op, const std::vector<int64_t>& values) {
  std::vector<int32_t> narrow(values.begin(), values.end());
  Shape shape;
  shape[shape.rank++] = static_cast<int32_t>(narrow.size());
  return op.graph().add_constant("", shape, std::move(narrow));
}

}  // namespace

void reshape(Op& op) {
  std::vector<int64_t> to;
  if (op.has(1)) {
    to = op.integers(1, "the new shape");
  } else if (const auto* stated = op.options<schema::ReshapeOptions>().new_shape(); stated != nullptr) {
    to.assign(stated->begin(), stated->end());
    if (to == std::vector<int64_t>{0}) to.clear();  // how old converters write a scalar
  }
  op.set(reshape_to(op.tensor(0), target_of(op, to)));
}

void squeeze(Op& op) {
  const auto* stated = op.options<schema::SqueezeOptions>().squeeze_dims();
  const Shape shape = op.shape(0);
  std::vector<bool> drop(static_cast<size_t>(shape.rank), count(stated) == 0);
  for (unsigned i = 0; i < count(stated); ++i) drop[static_cast<size_t>(op.axis(stated->Get(i), shape.rank))] = true;
  std::vector<int32_t> left;
  for (int d = 0; d < shape.rank; ++d) {
    if (!drop[static_cast<size_t>(d)] || (count(stated) == 0 && shape[d] != 1)) {
      left.push_back(shape[d]);
    } else if (shape[d] != 1) {
      op.refuse("dimension %d has %d elements, expected 1", d, shape[d]);
    }
  }
  op.set(reshape_to(op.tensor(0), left));
}

void expand_dims(Op& op) {
  std::vector<int32_t> dims = dims_of(op.tensor(0));
  const int axis = op.axis(op.integer(1, "the axis"), static_cast<int>(dims.size()) + 1);
  dims.insert(dims.begin() + axis, 1);
  op.set(reshape_to(op.tensor(0), dims));
}

void broadcast_to(Op& op) {
  const std::vector<int32_t> to = sizes_of(op, op.integers(1, "the shape"), "the shape");
  Shape shape;
  for (const int32_t size : to) shape[shape.rank++] = size;
  op.count_computed(shape.elements());
  const auto zeros = static_cast<size_t>(shape.elements());
  const Tensor x = op.tensor(0);
  if (x.dtype() == fbs::DType::Int32)
    return op.set(x + op.graph().add_constant("", shape, std::vector<int32_t>(zeros)));
  op.set(x + op.graph().add_constant("", shape, std::vector<float>(zeros)));
}

void tile(Op& op) {
  Tensor x = op.tensor(0);
  const std::vector<int64_t> times = op.integers(1, "the multiples");
  const Shape shape = x.shape();
  if (times.size() != static_cast<size_t>(shape.rank))
    op.refuse("%zu multiples for %d dimensions", times.size(), shape.rank);
  for (int axis = 0; axis < shape.rank; ++axis) {
    const int64_t n = times[static_cast<size_t>(axis)];
    if (n < 1 || n > kMostCopies)
      op.refuse("a multiple is %lld, expected 1 to %d", static_cast<long long>(n), kMostCopies);
    if (n > 1) x = concat(std::vector<Tensor>(static_cast<size_t>(n), x), axis);
  }
  op.set(x);
}

void shape(Op& op) {
  const std::vector<int32_t> dims = dims_of(op.tensor(0));
  if (dims.empty()) op.refuse("its input is a scalar, whose shape has no elements");
  op.set(constant(op, {dims.begin(), dims.end()}));
}

void rank(Op& op) {
  op.set(op.graph().add_constant("", Shape{}, std::vector<int32_t>{static_cast<int32_t>(op.shape(0).rank)}));
}

void zeros_like(Op& op) {
  const Shape of = op.shape(0);
  op.count_computed(of.elements());
  const auto n = static_cast<size_t>(of.elements());
  if (op.tensor(0).dtype() == fbs::DType::Int32)
    op.set(op.graph().add_constant("", of, std::vector<int32_t>(n)));
  else
    op.set(op.graph().add_constant("", of, std::vector<float>(n)));
}

void fill(Op& op) {
  const std::vector<int32_t> to = sizes_of(op, op.integers(0, "the shape"), "the shape");
  Shape shape;
  for (const int32_t size : to) shape[shape.rank++] = size;
  op.count_computed(shape.elements());
  const auto n = static_cast<size_t>(shape.elements());
  const double value = op.number(1, "the value");
  if (op.tensor(1).dtype() == fbs::DType::Int32)
    op.set(op.graph().add_constant("", shape, std::vector<int32_t>(n, static_cast<int32_t>(value))));
  else
    op.set(op.graph().add_constant("", shape, std::vector<double>(n, value)));
}

void range(Op& op) {
  const double start = op.number(0, "the start"), limit = op.number(1, "the limit"), delta = op.number(2, "the step");
  const double steps = std::ceil((limit - start) / delta);
  if (!(steps >= 1 && steps < static_cast<double>(kMaxElements))) op.refuse("it has %g elements", steps);
  op.count_computed(static_cast<int64_t>(steps));
  std::vector<double> values;
  for (double i = 0; i < steps; ++i) values.push_back(start + i * delta);
  const Shape shape{static_cast<int32_t>(values.size())};
  if (op.tensor(0).dtype() == fbs::DType::Int32)
    op.set(op.graph().add_constant("", shape, std::vector<int32_t>(values.begin(), values.end())));
  else
    op.set(op.graph().add_constant("", shape, std::move(values)));
}

}  // namespace ferry::tflite
