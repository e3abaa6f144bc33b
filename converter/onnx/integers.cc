#include "converter/onnx/integers.h"

#include "converter/graph/elementary.h"
#include "converter/graph/ops.h"

namespace ferry::onnx {
namespace {

// What unsigned integers of a file are more than those of the graph.
int64_t offset_of(Type type) { return type == Type::UInt8 ? 128 : 0; }

}  // namespace

bool is_int8(Tensor x) { return x.graph->at(x.id).dtype == fbs::DType::Int8; }

Tensor quantised(Tensor real, Type type, double scale, int64_t zero_point) {
  return quantize(real, static_cast<float>(scale), zero_point - offset_of(type));
}

bool is_quantised_by(Tensor x, Type type, double scale, int64_t zero_point) {
  const ferry::Type made = x.graph->type(x.id);
  return made.float_scale == static_cast<float>(scale) && made.zero_point == zero_point - offset_of(type);
}

Tensor real_of(Tensor x) { return dequantize(x); }

Tensor as_int32(Tensor x, Type type) {
  const ferry::Type made = x.graph->type(x.id);
  const Tensor steps = unary(real_of(x) * (1 / static_cast<double>(made.float_scale)), fbs::UnaryKind::Round);
  return cast_to(steps + static_cast<double>(made.zero_point + offset_of(type)), fbs::DType::Int32);
}

Tensor quantised_like(Tensor x, Tensor moved) {
  const ferry::Type made = x.graph->type(x.id);
  return quantize(moved, made.float_scale, made.zero_point);
}

}  // namespace ferry::onnx
