#include "converter/graph/elementary.h"

#include <algorithm>

namespace ferry {

Tensor unary(Tensor x, fbs::UnaryKind kind, double alpha, double beta) {
  fbs::UnaryT params;
  params.kind = kind;
  params.alpha = static_cast<float>(alpha);
  params.beta = static_cast<float>(beta);
  return x.graph->add_op("", params, {x});
}

Tensor binary(fbs::BinaryKind kind, Tensor a, Tensor b) {
  fbs::BinaryT params;
  params.kind = kind;
  return a.graph->add_op("", params, {a, b});
}

Tensor scalar(Tensor like, double value) {
  const Shape shape = like.shape().rank == 0 ? Shape{} : Shape{1};  // a result with `like` keeps its rank
  if (like.dtype() == fbs::DType::Int32)
    return like.graph->add_constant("", shape, std::vector<int32_t>{static_cast<int32_t>(value)});
  return like.graph->add_constant("", shape, std::vector<double>{value});
}

Tensor cast_to(Tensor x, fbs::DType type) {
  if (x.dtype() == type) return x;
  fbs::CastT params;
  params.to = type;
  return x.graph->add_op("", params, {x});
}

Tensor computed(Tensor x) {
  const fbs::GraphT& table = x.graph->table;
  const bool is_input =
      std::any_of(table.inputs.begin(), table.inputs.end(), [&](const auto& port) { return port->tensor == x.id; });
  if (!is_input && !x.graph->is_constant(x.id)) return x;
  const Shape shape = x.shape();
  fbs::ReshapeT params;
  params.shape.assign(shape.dims.begin(), shape.dims.begin() + shape.rank);
  return x.graph->add_op("", params, {x});
}

Tensor quantize(Tensor x, float scale, int64_t zero_point) {
  if (!(scale > 0 && scale <= kLargestScale))
    fail("the scale is %g, expected more than 0, up to 2^100", static_cast<double>(scale));
  scale = std::max(scale, kSmallestScale);
  if (zero_point < -128 || zero_point > 127)
    fail("the zero point is %lld, outside of 8 bits", static_cast<long long>(zero_point));
  fbs::RequantizeT params;
  params.to = fbs::DType::Int8;
  const Tensor integers = x.graph->add_op("", params, {x});
  x.graph->set_quantization(integers.id, scale, static_cast<int>(zero_point));
  return integers;
}

Tensor dequantize(Tensor x) {
  fbs::RequantizeT params;
  params.to = fbs::DType::Float32;
  return x.graph->add_op("", params, {x});
}

Tensor quantize_dequantize(Tensor x, float scale, int64_t zero_point) {
  return dequantize(quantize(x, scale, zero_point));
}

Tensor select(Tensor condition, Tensor a, Tensor b) { return a.graph->add_op("", fbs::SelectT{}, {condition, a, b}); }

Tensor reduce(Tensor x, fbs::ReduceKind kind, const std::vector<int32_t>& axes, bool keep) {
  if (axes.empty()) return x;
  fbs::ReduceT params;
  params.kind = kind;
  params.axes = axes;
  params.keep_dims = keep;
  return x.graph->add_op("", params, {x});
}

}  // namespace ferry
