#include "sdk/operators/shape_rules.h"

#include "sdk/operators/operators.h"
#include "sdk/operators/shape_rules/rules.h"

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
#define FERRY_RULE(Type, ...) \
  case fbs::OpParams::Type: FERRY_TRY(shape_rules::rule(name, *op.params_as_##Type(), inputs, &shape)); break;
      FERRY_OPERATORS(FERRY_RULE)
#undef FERRY_RULE
  }
  FERRY_TRY(check_size(name, "output", shape));
  *output = shape;
  return {};
}

Status at_operator(const Status& status, const fbs::Operator& op) {
  return error(status.code(), "operator '%s': %s", op.name() != nullptr ? op.name()->c_str() : "",
               status.message().c_str());
}

}  // namespace ferry
