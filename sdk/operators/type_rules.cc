#include "sdk/operators/type_rules.h"

#include <cmath>

#include "sdk/operators/operators.h"

namespace ferry {
namespace {

using fbs::DType;

// What an operator asks of its inputs and what it gives.
struct Types {
  bool whole = false;            // takes Int32
  bool real = true;              // takes Float32
  DType gives = DType::Float64;  // Float64: the type of what it takes
  unsigned indices = ~0u;        // the input that is Int32 whatever the others are
};

Types types_of(fbs::UnaryKind kind) {
  switch (kind) {
    case fbs::UnaryKind::Abs:
    case fbs::UnaryKind::Neg:
    case fbs::UnaryKind::Sign: return {.whole = true};
    case fbs::UnaryKind::Not: return {.whole = true, .gives = DType::Int32};
    case fbs::UnaryKind::IsNaN:
    case fbs::UnaryKind::IsInf: return {.gives = DType::Int32};
    default: return {};
  }
}

Types types_of(fbs::BinaryKind kind) {
  switch (kind) {
    case fbs::BinaryKind::PRelu: return {};
    case fbs::BinaryKind::Equal:
    case fbs::BinaryKind::Less:
    case fbs::BinaryKind::LessOrEqual: return {.whole = true, .gives = DType::Int32};
    case fbs::BinaryKind::And:
    case fbs::BinaryKind::Or:
    case fbs::BinaryKind::Xor: return {.whole = true, .real = false};
    default: return {.whole = true};
  }
}

Types types_of(const fbs::Operator& op) {
  switch (op.params_type()) {
    case fbs::OpParams::Unary: return types_of(op.params_as_Unary()->kind());
    case fbs::OpParams::Binary: return types_of(op.params_as_Binary()->kind());
    case fbs::OpParams::Reduce: return {.whole = op.params_as_Reduce()->kind() != fbs::ReduceKind::Mean};
    case fbs::OpParams::Append:
    case fbs::OpParams::Concat:
    case fbs::OpParams::PixelShuffle:
    case fbs::OpParams::Pad:
    case fbs::OpParams::Reshape:
    case fbs::OpParams::Transpose:
    case fbs::OpParams::Slice: return {.whole = true};
    case fbs::OpParams::Cast: {
      const DType to = op.params_as_Cast()->to();
      const bool real = to == DType::Float32 || to == DType::Float16 || to == DType::Float64 || to == DType::BFloat16;
      return {.whole = true, .gives = real ? DType::Float32 : DType::Int32};
    }
    case fbs::OpParams::Select: return {.whole = true, .indices = 0};
    case fbs::OpParams::Positions:
    case fbs::OpParams::TopK: return {.whole = true, .gives = DType::Int32};
    case fbs::OpParams::Gather:
    case fbs::OpParams::Scatter: return {.whole = true, .indices = 1};
    case fbs::OpParams::NonMaxSuppression: return {.gives = DType::Int32};
    default: return {};
  }
}

// What only a Float32 result can have.
Status check_parameters(const fbs::Operator& op) {
  const char* name = op_name(op.params_type());
  const fbs::Binary* p = op.params_as_Binary();
  if (p != nullptr && !(std::isinf(p->output_min()) && std::isinf(p->output_max())))
    return error(FERRY_CORRUPT, "%s: clamps Int32, expected an addition or the like of Float32", name);
  const fbs::Pad* pad = op.params_as_Pad();
  if (pad != nullptr && !(std::fabs(pad->value()) <= 0x1p30f && pad->value() == std::trunc(pad->value())))
    return error(FERRY_CORRUPT, "%s: pads Int32 with %g, expected a whole number within 2^30", name,
                 static_cast<double>(pad->value()));
  return {};
}

}  // namespace

Status infer_dtype(const fbs::Operator& op, std::span<const DType> inputs, DType* output) {
  const Types types = types_of(op);
  if (may_be_sized_by_input(op.params_type())) inputs = inputs.first(1);
  const unsigned first = types.indices == 0 ? 1 : 0;
  const DType main = inputs[first];
  for (unsigned i = 0; i < inputs.size(); ++i) {
    const bool index = i == types.indices;
    const bool fits =
        index ? inputs[i] == DType::Int32
              : inputs[i] == main && (main == DType::Int32 ? types.whole : types.real && main == DType::Float32);
    if (!fits)
      return error(FERRY_UNSUPPORTED, "%s: input %u is of type %s, expected %s", op_name(op.params_type()), i,
                   EnumNameDType(inputs[i]),
                   index || !types.real               ? "Int32"
                   : inputs[i] != main && types.whole ? EnumNameDType(main)
                   : types.whole                      ? "Float32 or Int32"
                                                      : "Float32");
  }
  *output = types.gives == DType::Float64 ? main : types.gives;
  return *output == DType::Int32 ? check_parameters(op) : Status();
}

Status infer_dtypes(const fbs::Operator& op, std::span<const DType> inputs, std::span<DType> outputs) {
  FERRY_TRY(infer_dtype(op, inputs, outputs.data()));
  for (size_t i = 1; i < outputs.size(); ++i) outputs[i] = inputs[0];  // TopK: of x
  return {};
}

}  // namespace ferry
