#include <algorithm>

#include "sdk/reference/ops.h"

namespace ferry::reference {
namespace {

double combined(fbs::ScatterKind kind, bool integers, double a, double b) {
  switch (kind) {
    case fbs::ScatterKind::Set: break;
    case fbs::ScatterKind::Add: return integers ? wrapped(static_cast<int64_t>(a + b)) : a + b;
    case fbs::ScatterKind::Mul: return integers ? wrapped_product(a, b) : a * b;
    case fbs::ScatterKind::Max: return std::max(a, b);
    case fbs::ScatterKind::Min: return std::min(a, b);
  }
  return b;
}

}  // namespace

void scatter(const fbs::Operator& op, Inputs inputs, Array& output) {
  const fbs::Scatter& p = *op.params_as_Scatter();
  const fbs::ScatterKind kind = p.kind();
  const fbs::GatherKind where = p.where();
  const int axis = p.axis();
  output.values = inputs[0]->values;
  for_each_element(inputs[2]->shape, [&](size_t index, const Coordinates& at) {
    double& value = output.values[gathered_from(where, axis, *inputs[0], *inputs[1], inputs[2]->shape, at)];
    value = combined(kind, output.dtype == fbs::DType::Int32, value, inputs[2]->values[index]);
  });
}

}  // namespace ferry::reference
