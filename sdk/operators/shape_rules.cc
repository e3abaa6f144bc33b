#include "sdk/operators/shape_rules.h"

#include <algorithm>

#include "sdk/operators/built_in.h"
#include "sdk/operators/operators.h"
#include "sdk/operators/shape_rules/rules.h"

namespace ferry {
namespace {

Status check_size(const char* op, const char* what, const Shape& shape) {
  int64_t elements = 1;
  for (int i = 0; i < shape.rank; ++i) {
    if (shape[i] < 1)
      return error(FERRY_SHAPE_MISMATCH, "%s: %s %s has a dimension below 1", op, what, in_words(shape).c_str());
    if (elements > kMaxElements / shape[i])
      return error(FERRY_SHAPE_MISMATCH, "%s: %s %s has more than " FERRY_MAX_ELEMENTS " elements", op, what,
                   in_words(shape).c_str());
    elements *= shape[i];
  }
  return {};
}

}  // namespace

Status infer_shapes(const fbs::Operator& op, std::span<const Shape> inputs, std::span<const StateShape> states,
                    std::span<Shape> outputs) {
  std::fill(outputs.begin(), outputs.end(), Shape());
  const char* name = op_name(op.params_type());
  if (op.params_type() > fbs::OpParams::MAX)
    return error(FERRY_UNSUPPORTED, "operator type %d is unknown to this version", static_cast<int>(op.params_type()));
  if (op.params_type() == fbs::OpParams::NONE || op.params() == nullptr)
    return error(FERRY_CORRUPT, "%s: the operator has no parameters", name);
  const unsigned gives = traits(op.params_type()).outputs;
  if (outputs.empty() || outputs.size() > gives)
    return error(FERRY_CORRUPT, "%s: %zu outputs, expected %s%u", name, outputs.size(), gives > 1 ? "1 to " : "",
                 gives);
  for (const Shape& input : inputs) FERRY_TRY(check_size(name, "input", input));
  Shape shapes[kMaxOutputs];
  switch (op.params_type()) {
    case fbs::OpParams::NONE: break;
#define FERRY_RULE_OF(Type, ...)                                                       \
  case fbs::OpParams::Type:                                                            \
    if constexpr (!built_in(fbs::OpParams::Type))                                      \
      return left_out(name);                                                           \
    else                                                                               \
      FERRY_TRY(shape_rules::rule(name, *op.params_as_##Type(), inputs, __VA_ARGS__)); \
    break;
#define FERRY_RULE(Type, ...) FERRY_RULE_OF(Type, shapes)
#define FERRY_RULE_WITH_STATE(Type, ...) FERRY_RULE_OF(Type, states, shapes)
      FERRY_OPERATORS_ON_GPU(FERRY_RULE)
      FERRY_OPERATORS_ON_CPU(FERRY_RULE)
      FERRY_OPERATORS_WITH_STATE(FERRY_RULE_WITH_STATE)
#undef FERRY_RULE
#undef FERRY_RULE_WITH_STATE
#undef FERRY_RULE_OF
  }
  for (size_t i = 0; i < outputs.size(); ++i) FERRY_TRY(check_size(name, "output", shapes[i]));
  std::copy_n(shapes, outputs.size(), outputs.begin());
  return {};
}

Status infer_largest_shapes(const fbs::Operator& op, std::span<const Shape> inputs, std::span<const StateShape> states,
                            std::span<Shape> outputs) {
  FERRY_TRY(infer_shapes(op, inputs, states, outputs));
  if (const fbs::Append* p = op.params_as_Append()) outputs[0] = states[p->state()].largest(inputs[0]);
  return {};
}

Status check_state_type(const fbs::Operator& op, std::span<const Type> inputs, std::span<const StateShape> states) {
  if (!changes_state(op.params_type())) return {};
  const uint32_t state = state_of(op);
  // One with a block is stored in fewer bits than the input has.
  if ((states[state].block > 0 ? fbs::DType::Float32 : states[state].dtype) == inputs[0].dtype) return {};
  return error(FERRY_CORRUPT, "%s: the input is of type %s, state %u of %s", op_name(op.params_type()),
               fbs::EnumNameDType(inputs[0].dtype), state, fbs::EnumNameDType(states[state].dtype));
}

Status at_operator(const Status& status, const fbs::Operator& op) {
  return error(status.code(), "operator '%s': %s", op.name() != nullptr ? op.name()->c_str() : "",
               status.message().data());
}

}  // namespace ferry
