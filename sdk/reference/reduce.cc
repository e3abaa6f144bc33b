#include <algorithm>
#include <limits>

#include "sdk/reference/ops.h"

namespace ferry::reference {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double first(fbs::ReduceKind kind) {
  switch (kind) {
    case fbs::ReduceKind::Max: return -kInfinity;
    case fbs::ReduceKind::Min: return kInfinity;
    case fbs::ReduceKind::Prod: return 1;
    case fbs::ReduceKind::Mean:
    case fbs::ReduceKind::Sum: break;
  }
  return 0;
}

double combined(fbs::ReduceKind kind, bool integers, double a, double b) {
  switch (kind) {
    case fbs::ReduceKind::Max: return maximum(a, b);
    case fbs::ReduceKind::Min: return minimum(a, b);
    case fbs::ReduceKind::Prod: return integers ? wrapped_product(a, b) : a * b;
    case fbs::ReduceKind::Mean:
    case fbs::ReduceKind::Sum: break;
  }
  return integers ? wrapped(static_cast<int64_t>(a + b)) : a + b;
}

}  // namespace

void reduce(const fbs::Operator& op, Inputs inputs, Array& output) {
  const fbs::Reduce& p = *op.params_as_Reduce();
  const fbs::ReduceKind kind = p.kind();
  const std::vector<int32_t> axes(p.axes()->begin(), p.axes()->end());
  const Array& x = *inputs[0];
  std::fill(output.values.begin(), output.values.end(), first(kind));
  Shape kept = x.shape;  // the output's shape with keep_dims
  for (const int32_t axis : axes) kept[axis] = 1;
  for_each_element(x.shape, [&](size_t index, const Coordinates& at) {
    Coordinates to = at;
    for (const int32_t axis : axes) to[static_cast<size_t>(axis)] = 0;
    double& value = output.values[index_of(kept, to)];
    value = combined(kind, x.dtype == fbs::DType::Int32, value, x.values[index]);
  });
  if (kind != fbs::ReduceKind::Mean) return;
  const double count = static_cast<double>(x.values.size() / output.values.size());
  for (double& value : output.values) value /= count;
}

}  // namespace ferry::reference
