#include "sdk/operators/type_rules.h"

#include <cmath>
#include <cstdio>

#include "sdk/operators/loops.h"
#include "sdk/operators/operators.h"

namespace ferry {
namespace {

using fbs::BinaryKind;
using fbs::DType;
using fbs::OpParams;
using fbs::UnaryKind;

// Same: the type that is computed with. Int8: with a quantization of its own. Moved: Int8 with the inputs'
// quantization. OfTable: Int8 with input 1's.
enum class OutputType : uint8_t { Same, Float, Integer, Int8, Moved, OfTable };

constexpr TypeSet kUnread = 0xff;  // used for its shape only
constexpr uint64_t kAnyKind = ~uint64_t{0};

template <typename... Kinds>
constexpr uint64_t kinds(Kinds... kind) {
  return ((uint64_t{1} << static_cast<unsigned>(kind)) | ...);
}

// The types that an operator accepts and outputs. All inputs that may be Float32 or Int32 must have the same of the
// two, unless input 0 is unread.
struct Rule {
  OpParams op;
  uint64_t kinds;     // of operators with kinds: one bit each
  TypeSet inputs[4];  // inputs 0, 1, 2 and all others; entries that are missing equal input 2's
  OutputType output = OutputType::Same;
};

// The first row that matches the operator's kind applies.
constexpr Rule kRules[] = {
    {OpParams::Conv2d, kAnyKind, {kFloat32, kFloats | kQuantized, kFloats}},
    {OpParams::Linear, kAnyKind, {kFloat32, kFloats | kQuantized, kFloats}},
    {OpParams::ConvTranspose2d, kAnyKind, {kFloat32, kFloats, kFloats}},
    {OpParams::DeformConv2d, kAnyKind, {kFloat32, kFloats, kFloat32}},
    {OpParams::Pool2d, kAnyKind, {kFloat32}},
    {OpParams::Unary, kinds(UnaryKind::Abs, UnaryKind::Neg, UnaryKind::Sign), {kNumbers}},
    {OpParams::Unary, kinds(UnaryKind::Not), {kNumbers}, OutputType::Integer},
    {OpParams::Unary, kinds(UnaryKind::IsNaN, UnaryKind::IsInf), {kFloat32}, OutputType::Integer},
    {OpParams::Unary, kAnyKind, {kFloat32}},
    {OpParams::Binary, kinds(BinaryKind::PRelu), {kFloats, kFloats}},
    {OpParams::Binary,
     kinds(BinaryKind::Equal, BinaryKind::Less, BinaryKind::LessOrEqual),
     {kNumbers | kFloat16, kNumbers | kFloat16},
     OutputType::Integer},
    {OpParams::Binary, kinds(BinaryKind::And, BinaryKind::Or, BinaryKind::Xor), {kInt32, kInt32}},
    {OpParams::Binary, kAnyKind, {kNumbers | kFloat16, kNumbers | kFloat16}},
    {OpParams::Reduce, kinds(fbs::ReduceKind::Mean), {kFloat32}},
    {OpParams::Reduce, kAnyKind, {kNumbers}},
    {OpParams::Concat, kAnyKind, {kNumbers, kNumbers, kNumbers}},
    {OpParams::PixelShuffle, kAnyKind, {kNumbers}},
    {OpParams::Resize2d, kAnyKind, {kFloat32, kUnread}},
    {OpParams::Pad, kAnyKind, {kNumbers}},
    {OpParams::Reshape, kAnyKind, {kNumbers, kUnread}},
    {OpParams::Transpose, kAnyKind, {kNumbers}},
    {OpParams::Slice, kAnyKind, {kNumbers, kUnread}},
    {OpParams::Softmax, kAnyKind, {kFloat32}},
    {OpParams::LayerNorm, kAnyKind, {kFloat32, kFloat32, kFloat32}},
    {OpParams::GroupNorm, kAnyKind, {kFloat32, kFloat32, kFloat32}},
    {OpParams::Grn, kAnyKind, {kFloat32, kFloat32, kFloat32}},
    {OpParams::Attention, kAnyKind, {kFloat32, kFloat32, kFloat32}},
    {OpParams::RotaryEmbedding, kAnyKind, {kFloat32, kFloat32, kFloat32}},
    {OpParams::WindowPartition, kAnyKind, {kFloat32}},
    {OpParams::WindowReverse, kAnyKind, {kFloat32, kUnread}},
    {OpParams::MatMul, kAnyKind, {kFloat32, kFloat32}},
    {OpParams::Cast,
     kinds(DType::Float32, DType::Float16, DType::Float64, DType::BFloat16),
     {kNumbers},
     OutputType::Float},
    {OpParams::Cast, kAnyKind, {kNumbers}, OutputType::Integer},
    {OpParams::Select, kAnyKind, {kInt32, kNumbers, kNumbers}},
    {OpParams::TopK, kAnyKind, {kNumbers}, OutputType::Integer},
    {OpParams::Gather, kinds(fbs::GatherKind::Slices), {kNumbers | kFloat16 | kQuantized, kInt32}},
    {OpParams::Gather, kAnyKind, {kNumbers, kInt32}},
    {OpParams::Scatter, kAnyKind, {kNumbers, kInt32, kNumbers}},
    {OpParams::NonMaxSuppression, kAnyKind, {kFloat32, kFloat32}, OutputType::Integer},
    {OpParams::Experts, kAnyKind, {kFloat32, kInt32, kFloat32, kFloats | kQuantized}},
    {OpParams::Append, kAnyKind, {kNumbers}},
    {OpParams::Positions, kAnyKind, {kNumbers}, OutputType::Integer},
    {OpParams::CausalConv1d, kAnyKind, {kFloat32, kFloat32, kFloat32}},
    {OpParams::GatedDeltaRule, kAnyKind, {kFloat32, kFloat32, kFloat32}},
    {OpParams::Recurrence, kAnyKind, {kFloat32, kFloat32, kFloat32, kInt32}},
    {OpParams::LoopBegin, kAnyKind, {kUnread, kInt32, kNumbers}, OutputType::Integer},
    {OpParams::LoopEnd, kAnyKind, {kUnread, kInt32, kNumbers}, OutputType::Integer},
    {OpParams::Requantize, kinds(DType::Int8), {kFloat32 | kInt8}, OutputType::Int8},
    {OpParams::Requantize, kAnyKind, {kInt8}, OutputType::Float},
    {OpParams::Lookup, kAnyKind, {kInt8, kInt8}, OutputType::OfTable},
};

constexpr bool has_rule_for_any_kind(OpParams op) {
  for (const Rule& rule : kRules)
    if (rule.op == op && rule.kinds == kAnyKind) return true;
  return false;
}

constexpr bool complete() {
  for (unsigned op = 1; op <= static_cast<unsigned>(OpParams::MAX); ++op)
    if (!has_rule_for_any_kind(static_cast<OpParams>(op))) return false;
  return true;
}
static_assert(complete(), "every operator has a row for the kinds that no other row of its names");

// The same for operators whose first input is Int8; operators without a row compute with floats only.
constexpr Rule kInt8Rules[] = {
    {OpParams::Conv2d, kAnyKind, {kInt8, kScaledInt8, kInt32}, OutputType::Int8},
    {OpParams::Linear, kAnyKind, {kInt8, kScaledInt8, kInt32}, OutputType::Int8},
    {OpParams::Pool2d, kinds(fbs::PoolKind::Max), {kInt8}, OutputType::Moved},
    {OpParams::Pool2d, kinds(fbs::PoolKind::Average), {kInt8}, OutputType::Int8},
    {OpParams::Binary, kinds(BinaryKind::Add, BinaryKind::Sub, BinaryKind::Mul), {kInt8, kInt8}, OutputType::Int8},
    {OpParams::Reduce, kinds(fbs::ReduceKind::Mean), {kInt8}, OutputType::Int8},
    {OpParams::Concat, kAnyKind, {kInt8, kInt8, kInt8}, OutputType::Moved},
    {OpParams::PixelShuffle, kAnyKind, {kInt8}, OutputType::Moved},
    {OpParams::Resize2d, kinds(fbs::ResizeKind::Nearest), {kInt8, kUnread}, OutputType::Moved},
    {OpParams::Pad, kAnyKind, {kInt8}, OutputType::Moved},
    {OpParams::Reshape, kAnyKind, {kInt8, kUnread}, OutputType::Moved},
    {OpParams::Transpose, kAnyKind, {kInt8}, OutputType::Moved},
    {OpParams::Slice, kAnyKind, {kInt8, kUnread}, OutputType::Moved},
};

unsigned kind_of(const fbs::Operator& op) {
  switch (op.params_type()) {
    case OpParams::Unary: return static_cast<unsigned>(op.params_as_Unary()->kind());
    case OpParams::Binary: return static_cast<unsigned>(op.params_as_Binary()->kind());
    case OpParams::Reduce: return static_cast<unsigned>(op.params_as_Reduce()->kind());
    case OpParams::Cast: return static_cast<unsigned>(op.params_as_Cast()->to());
    case OpParams::Gather: return static_cast<unsigned>(op.params_as_Gather()->kind());
    case OpParams::Pool2d: return static_cast<unsigned>(op.params_as_Pool2d()->kind());
    case OpParams::Resize2d: return static_cast<unsigned>(op.params_as_Resize2d()->kind());
    case OpParams::Requantize: return static_cast<unsigned>(op.params_as_Requantize()->to());
    // No row depends on a kind.
    case OpParams::NONE:
    case OpParams::Conv2d:
    case OpParams::Linear:
    case OpParams::Concat:
    case OpParams::PixelShuffle:
    case OpParams::Pad:
    case OpParams::Reshape:
    case OpParams::Transpose:
    case OpParams::Slice:
    case OpParams::Softmax:
    case OpParams::ConvTranspose2d:
    case OpParams::LayerNorm:
    case OpParams::GroupNorm:
    case OpParams::Grn:
    case OpParams::Attention:
    case OpParams::RotaryEmbedding:
    case OpParams::WindowPartition:
    case OpParams::WindowReverse:
    case OpParams::Select:
    case OpParams::TopK:
    case OpParams::Scatter:
    case OpParams::NonMaxSuppression:
    case OpParams::Append:
    case OpParams::Positions:
    case OpParams::MatMul:
    case OpParams::DeformConv2d:
    case OpParams::Experts:
    case OpParams::CausalConv1d:
    case OpParams::GatedDeltaRule:
    case OpParams::Recurrence:
    case OpParams::LoopBegin:
    case OpParams::LoopEnd:
    case OpParams::Lookup: break;
  }
  return 0;
}

bool applies(const Rule& rule, OpParams op, unsigned kind) { return rule.op == op && (rule.kinds >> kind & 1) != 0; }

const Rule& rule_of(const fbs::Operator& op, const Type& first) {
  const unsigned kind = kind_of(op);
  if (set_of(first) == kInt8)
    for (const Rule& rule : kInt8Rules)
      if (applies(rule, op.params_type(), kind)) return rule;
  const Rule* rule = kRules;
  while (!applies(*rule, op.params_type(), kind)) ++rule;
  return *rule;
}

bool shared(TypeSet set) { return set != kUnread && (set & kNumbers) == kNumbers; }
bool integer(const Type& type) { return type.dtype == DType::Int32; }

// Parameters that require a Float32 result.
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

// What the integer arithmetic requires of an operator with an Int8 output.
Status check_int8(const char* name, OutputType output, std::span<const Type> inputs) {
  for (unsigned i = 0; i < inputs.size(); ++i) {
    const Type& type = inputs[i];
    if (set_of(type) == kScaledInt8 && (type.axis != 0 || type.block != 0))
      return error(FERRY_UNSUPPORTED,
                   "%s: the weight has scales along axis %d, in blocks of %d; an Int8 input needs scales along axis 0 "
                   "and no blocks",
                   name, type.axis, type.block);
    if (output == OutputType::Moved && set_of(type) == kInt8 && !same_quantization(type, inputs[0]))
      return error(FERRY_CORRUPT, "%s: input %u has another scale or zero point than input 0", name, i);
  }
  return {};
}

}  // namespace

TypeSet set_of(const Type& type) {
  switch (type.dtype) {
    case DType::Float32: return type.quantized ? 0 : kFloat32;
    case DType::Int32: return type.quantized ? 0 : kInt32;
    case DType::Float16: return type.quantized ? 0 : kFloat16;
    case DType::Int8: return !type.quantized ? 0 : type.float_scale != 0 ? kInt8 : kScaledInt8;
    case DType::Int4: return type.quantized ? kScaledInt4 : 0;
    case DType::Float64:
    case DType::UInt8:
    case DType::Int64:
    case DType::Int16:
    case DType::UInt16:
    case DType::UInt32:
    case DType::UInt64:
    case DType::Bool:
    case DType::BFloat16: break;
  }
  return 0;
}

Words in_words(TypeSet set) noexcept {
  constexpr const char* kNames[] = {"Float32",          "Int32",         "Float16", "Int8 with scales",
                                    "Int4 with scales", "quantised Int8"};
  Words words{};
  size_t length = 0;
  for (size_t i = 0; i < std::size(kNames); ++i) {
    if ((set >> i & 1) == 0) continue;
    const char* before = length == 0 ? "" : set >> (i + 1) == 0 ? " or " : ", ";
    length +=
        static_cast<size_t>(std::snprintf(words.text + length, sizeof words.text - length, "%s%s", before, kNames[i]));
  }
  return words;
}

Words in_words(const Type& type) noexcept {
  Words words;
  if (set_of(type) == kInt8) return in_words(kInt8);
  std::snprintf(words.text, sizeof words.text, "%s%s", EnumNameDType(type.dtype), type.quantized ? " with scales" : "");
  return words;
}

Status infer_type(const fbs::Operator& op, std::span<const Type> inputs, Type* output) {
  const char* name = op_name(op.params_type());
  const Rule& rule = rule_of(op, inputs[0]);
  // The input that determines the type.
  const unsigned main = has_weight(op.params_type()) || op.params_type() == OpParams::Select ? 1 : 0;
  for (unsigned i = 0; i < inputs.size(); ++i) {
    TypeSet set = rule.inputs[i > 2 && rule.inputs[3] != 0 ? 3 : i < 2 ? i : 2];
    if (set == kUnread) continue;
    if (i > main && shared(set) && rule.inputs[0] != kUnread)
      set = static_cast<TypeSet>(set & (integer(inputs[main]) ? kInt32 : kFloats));
    if ((set_of(inputs[i]) & set) == 0)
      return error(FERRY_UNSUPPORTED, "%s: input %u is of type %s, expected %s", name, i, in_words(inputs[i]).c_str(),
                   in_words(set).c_str());
  }
  if (rule.output == OutputType::Int8 || rule.output == OutputType::Moved || rule.output == OutputType::OfTable) {
    FERRY_TRY(check_int8(name, rule.output, inputs));
    *output = {DType::Int8, true};
    if (rule.output == OutputType::Moved) *output = inputs[0];
    if (rule.output == OutputType::OfTable) *output = inputs[1];
    return {};
  }
  const bool outputs_integer =
      rule.output == OutputType::Integer || (rule.output == OutputType::Same && integer(inputs[main]));
  *output = {outputs_integer ? DType::Int32 : DType::Float32};
  return outputs_integer ? check_parameters(op) : Status();
}

// The type of output `index` of a LoopEnd: that of a state or of a row.
Status infer_from_loop(const fbs::LoopEnd& p, std::span<const Type> inputs, size_t index, Type* output) {
  const auto states = static_cast<size_t>(p.states());
  const Type& value = inputs[LoopEndInputs::kStates + index - 1 + (index > states ? states : 0)];
  if (index <= states && inputs[LoopEndInputs::kStates + states + index - 1].dtype != value.dtype)
    return error(FERRY_UNSUPPORTED, "loop_end: state %zu is of another type in the next step, expected %s", index - 1,
                 in_words(value).c_str());
  *output = {value.dtype};
  return {};
}

Status infer_types(const fbs::Operator& op, std::span<const Type> inputs, std::span<Type> outputs) {
  FERRY_TRY(infer_type(op, inputs, outputs.data()));
  const fbs::LoopEnd* end = op.params_as_LoopEnd();
  if (end != nullptr)
    for (const size_t i : {LoopEndInputs::kCount, LoopEndInputs::kCondition})
      if (set_of(inputs[i]) != kInt32)
        return error(FERRY_UNSUPPORTED, "loop_end: input %zu is of type %s, expected Int32", i,
                     in_words(inputs[i]).c_str());
  for (size_t i = 1; i < outputs.size(); ++i) {
    if (end != nullptr)
      FERRY_TRY(infer_from_loop(*end, inputs, i, &outputs[i]));
    else if (op.params_type() == OpParams::LoopBegin)
      outputs[i] = {inputs[LoopBeginInputs::kStates + i - 1].dtype};
    else
      outputs[i] = inputs[0];  // TopK: the type of x
  }
  return {};
}

}  // namespace ferry
