#include "sdk/graph/shape_rules.h"

#include "sdk/graph/shape_rules/rules.h"

namespace ferry {
namespace {

Status check_size(const char* op, const char* what, const Shape& shape) {
  int64_t elements = 1;
  for (int i = 0; i < shape.rank; ++i) {
    if (shape[i] < 1)
      return error(FERRY_SHAPE_MISMATCH, "%s: %s %s has a dimension below 1", op, what, to_string(shape).c_str());
    if (elements > shape_rules::kMaxElements / shape[i])
      return error(FERRY_SHAPE_MISMATCH, "%s: %s %s has more than 2^40 elements", op, what, to_string(shape).c_str());
    elements *= shape[i];
  }
  return {};
}

}  // namespace

Status infer_shape(const fbs::Operator& op, std::span<const Shape> inputs, Shape* output) {
  *output = Shape();
  const char* name = op_name(op.params_type());
  if (op.params_type() > fbs::OpParams::MAX)
    return error(FERRY_UNSUPPORTED, "operator type %d is unknown to this version", static_cast<int>(op.params_type()));
  if (op.params_type() == fbs::OpParams::NONE || op.params() == nullptr)
    return error(FERRY_CORRUPT, "%s: the operator has no parameters", name);
  for (const Shape& input : inputs) FERRY_TRY(check_size(name, "input", input));
  Shape shape;
  switch (op.params_type()) {
    case fbs::OpParams::NONE: break;
#define FERRY_RULE(Type) \
  case fbs::OpParams::Type: FERRY_TRY(shape_rules::rule(name, *op.params_as_##Type(), inputs, &shape)); break
      FERRY_RULE(Conv2d);
      FERRY_RULE(Linear);
      FERRY_RULE(Pool2d);
      FERRY_RULE(Unary);
      FERRY_RULE(Binary);
      FERRY_RULE(Reduce);
      FERRY_RULE(Concat);
      FERRY_RULE(PixelShuffle);
      FERRY_RULE(Resize2d);
      FERRY_RULE(Pad);
      FERRY_RULE(Reshape);
      FERRY_RULE(Transpose);
      FERRY_RULE(Slice);
      FERRY_RULE(Softmax);
      FERRY_RULE(ConvTranspose2d);
      FERRY_RULE(LayerNorm);
      FERRY_RULE(GroupNorm);
      FERRY_RULE(Grn);
      FERRY_RULE(Attention);
      FERRY_RULE(RotaryEmbedding);
      FERRY_RULE(WindowPartition);
      FERRY_RULE(WindowReverse);
      FERRY_RULE(Cast);
      FERRY_RULE(Select);
      FERRY_RULE(TopK);
      FERRY_RULE(Gather);
      FERRY_RULE(Scatter);
      FERRY_RULE(NonMaxSuppression);
      FERRY_RULE(Append);
      FERRY_RULE(Positions);
#undef FERRY_RULE
  }
  FERRY_TRY(check_size(name, "output", shape));
  *output = shape;
  return {};
}

const char* op_name(fbs::OpParams type) {
  switch (type) {
    case fbs::OpParams::NONE: break;
    case fbs::OpParams::Conv2d: return "conv2d";
    case fbs::OpParams::Linear: return "linear";
    case fbs::OpParams::Pool2d: return "pool2d";
    case fbs::OpParams::Unary: return "unary";
    case fbs::OpParams::Binary: return "binary";
    case fbs::OpParams::Reduce: return "reduce";
    case fbs::OpParams::Concat: return "concat";
    case fbs::OpParams::PixelShuffle: return "pixel_shuffle";
    case fbs::OpParams::Resize2d: return "resize2d";
    case fbs::OpParams::Pad: return "pad";
    case fbs::OpParams::Reshape: return "reshape";
    case fbs::OpParams::Transpose: return "transpose";
    case fbs::OpParams::Slice: return "slice";
    case fbs::OpParams::Softmax: return "softmax";
    case fbs::OpParams::ConvTranspose2d: return "conv_transpose2d";
    case fbs::OpParams::LayerNorm: return "layer_norm";
    case fbs::OpParams::GroupNorm: return "group_norm";
    case fbs::OpParams::Grn: return "grn";
    case fbs::OpParams::Attention: return "attention";
    case fbs::OpParams::RotaryEmbedding: return "rotary_embedding";
    case fbs::OpParams::WindowPartition: return "window_partition";
    case fbs::OpParams::WindowReverse: return "window_reverse";
    case fbs::OpParams::Cast: return "cast";
    case fbs::OpParams::Select: return "select";
    case fbs::OpParams::TopK: return "top_k";
    case fbs::OpParams::Gather: return "gather";
    case fbs::OpParams::Scatter: return "scatter";
    case fbs::OpParams::NonMaxSuppression: return "non_max_suppression";
    case fbs::OpParams::Append: return "append";
    case fbs::OpParams::Positions: return "positions";
  }
  return "unknown";
}

Status at_operator(const Status& status, const fbs::Operator& op) {
  return error(status.code(), "operator '%s': %s", op.name() != nullptr ? op.name()->c_str() : "",
               status.message().c_str());
}

bool has_weight(fbs::OpParams type) {
  return type == fbs::OpParams::Conv2d || type == fbs::OpParams::ConvTranspose2d || type == fbs::OpParams::Linear;
}

bool takes_constants(fbs::OpParams type) {
  return has_weight(type) || type == fbs::OpParams::LayerNorm || type == fbs::OpParams::GroupNorm ||
         type == fbs::OpParams::Grn;
}

}  // namespace ferry
