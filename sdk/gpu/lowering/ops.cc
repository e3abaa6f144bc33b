#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <iterator>

#include "sdk/gpu/lowering/lowerings.h"
#include "sdk/operators/type_rules.h"

namespace ferry::gpu {
namespace {

// An operator, and the types that its weights may have.
struct Entry {
  fbs::OpParams type;
  TypeSet weights;
  int alternatives;
  bool epilogue;
  Status (*lower)(const Problem& problem, int alternative, Lowering* out);
};

constexpr Entry kEntries[] = {
    {fbs::OpParams::Conv2d, kFloats | kQuantized, kConv2dAlternatives, true, lower_conv2d},
    {fbs::OpParams::Linear, kFloats | kQuantized, kLinearAlternatives, true, lower_linear},
    {fbs::OpParams::Pool2d, kFloats, 1, true, lower_pool2d},
    {fbs::OpParams::Unary, kFloats, 1, true, lower_unary},
    {fbs::OpParams::Binary, kFloats, 2, true, lower_binary},
    {fbs::OpParams::Reduce, kFloats, 2, true, lower_reduce},
    {fbs::OpParams::Concat, kFloats, 1, false, lower_concat},
    {fbs::OpParams::PixelShuffle, kFloats, 1, false, lower_pixel_shuffle},
    {fbs::OpParams::Resize2d, kFloats, 1, true, lower_resize2d},
    {fbs::OpParams::Pad, kFloats, 1, false, lower_pad},
    {fbs::OpParams::Reshape, kFloats, 1, false, lower_reshape},
    {fbs::OpParams::Transpose, kFloats, 1, false, lower_transpose},
    {fbs::OpParams::Slice, kFloats, 1, false, lower_slice},
    {fbs::OpParams::Softmax, kFloats, 2, false, lower_softmax},
    {fbs::OpParams::ConvTranspose2d, kFloats, kConvTranspose2dAlternatives, true, lower_conv_transpose2d},
    {fbs::OpParams::LayerNorm, kFloats, 1, true, lower_layer_norm},
    {fbs::OpParams::GroupNorm, kFloats, 1, true, lower_group_norm},
    {fbs::OpParams::Grn, kFloats, 1, true, lower_grn},
    {fbs::OpParams::Attention, kFloats, kAttentionAlternatives, false, lower_attention},
    {fbs::OpParams::RotaryEmbedding, kFloats, 1, false, lower_rotary_embedding},
    {fbs::OpParams::WindowPartition, kFloats, 1, true, lower_window_partition},
    {fbs::OpParams::WindowReverse, kFloats, 1, true, lower_window_reverse},
    {fbs::OpParams::MatMul, kFloats, kMatMulAlternatives, false, lower_matmul},
    {fbs::OpParams::DeformConv2d, kFloats, kDeformConv2dAlternatives, false, lower_deform_conv2d},
    {fbs::OpParams::Experts, kFloats | kQuantized, 1, false, lower_experts},
    {fbs::OpParams::TopK, kFloats, 1, false, lower_top_k},
    {fbs::OpParams::Gather, kFloats, 1, false, lower_gather},
    {fbs::OpParams::Scatter, kFloats, 1, false, lower_scatter},
    {fbs::OpParams::Append, kFloats, 1, false, lower_append},
    {fbs::OpParams::CausalConv1d, kFloats, 1, false, lower_causal_conv1d},
    {fbs::OpParams::GatedDeltaRule, kFloats, 1, false, lower_gated_delta_rule},
};

#define FERRY_TYPE(Type, ...) fbs::OpParams::Type,
constexpr fbs::OpParams kListed[] = {FERRY_OPERATORS_ON_GPU(FERRY_TYPE) FERRY_OPERATORS_WITH_STATE_ON_GPU(FERRY_TYPE)};
#undef FERRY_TYPE
static_assert(std::equal(std::begin(kEntries), std::end(kEntries), std::begin(kListed), std::end(kListed),
                         [](const Entry& entry, fbs::OpParams type) { return entry.type == type; }),
              "the operators are not those of the lists ..._ON_GPU, in their order");

constexpr const Entry* find(fbs::OpParams type) {
  for (const Entry& entry : kEntries)
    if (entry.type == type) return &entry;
  return nullptr;
}

// has_kind(): whether the shaders compute a kind of an operator. Every kind is listed, so that a new one does not
// compile without a decision. Functions with jumps (Floor, Sign...) stay on the CPU, because a canary cannot check a
// value beside a jump. cmake/shader_kinds.py compares this list with shaders/epilogue.glsl.
bool has_kind(fbs::UnaryKind kind) {
  switch (kind) {
    case fbs::UnaryKind::Clamp:
    case fbs::UnaryKind::LeakyRelu:
    case fbs::UnaryKind::Sigmoid:
    case fbs::UnaryKind::Tanh:
    case fbs::UnaryKind::HardSwish:
    case fbs::UnaryKind::Silu:
    case fbs::UnaryKind::Gelu:
    case fbs::UnaryKind::Abs:
    case fbs::UnaryKind::Neg:
    case fbs::UnaryKind::Exp:
    case fbs::UnaryKind::Sqrt:
    case fbs::UnaryKind::Square:
    case fbs::UnaryKind::HardSigmoid:
    case fbs::UnaryKind::GeluTanh:
    case fbs::UnaryKind::Log:
    case fbs::UnaryKind::Erf:
    case fbs::UnaryKind::Sin:
    case fbs::UnaryKind::Cos: return true;
    case fbs::UnaryKind::Floor:
    case fbs::UnaryKind::Ceil:
    case fbs::UnaryKind::Round:
    case fbs::UnaryKind::Sign:
    case fbs::UnaryKind::Tan:
    case fbs::UnaryKind::Not:
    case fbs::UnaryKind::IsNaN:
    case fbs::UnaryKind::IsInf: break;
  }
  return false;
}

bool has_kind(fbs::BinaryKind kind) {
  switch (kind) {
    case fbs::BinaryKind::Add:
    case fbs::BinaryKind::Sub:
    case fbs::BinaryKind::Mul:
    case fbs::BinaryKind::Div:
    case fbs::BinaryKind::Max:
    case fbs::BinaryKind::Min:
    case fbs::BinaryKind::PRelu: return true;
    case fbs::BinaryKind::Pow:
    case fbs::BinaryKind::Mod:
    case fbs::BinaryKind::FMod:
    case fbs::BinaryKind::Equal:
    case fbs::BinaryKind::Less:
    case fbs::BinaryKind::LessOrEqual:
    case fbs::BinaryKind::And:
    case fbs::BinaryKind::Or:
    case fbs::BinaryKind::Xor: break;
  }
  return false;
}

bool has_kind(fbs::ReduceKind kind) {
  switch (kind) {
    case fbs::ReduceKind::Mean:
    case fbs::ReduceKind::Sum: return true;
    case fbs::ReduceKind::Max:
    case fbs::ReduceKind::Min:
    case fbs::ReduceKind::Prod: break;
  }
  return false;
}

bool has_kind(fbs::GatherKind kind) {
  switch (kind) {
    case fbs::GatherKind::Elements: return true;
    case fbs::GatherKind::Slices:
    case fbs::GatherKind::Tuples: break;
  }
  return false;
}

bool has_kind(fbs::ScatterKind kind) {
  switch (kind) {
    case fbs::ScatterKind::Set:
    case fbs::ScatterKind::Add:
    case fbs::ScatterKind::Mul:
    case fbs::ScatterKind::Max:
    case fbs::ScatterKind::Min: return true;
  }
  return false;
}

bool has_kind(const fbs::Operator& op) {
  if (const fbs::Unary* p = op.params_as_Unary()) return has_kind(p->kind());
  if (const fbs::Binary* p = op.params_as_Binary()) return has_kind(p->kind());
  if (const fbs::Reduce* p = op.params_as_Reduce()) return has_kind(p->kind());
  if (const fbs::Gather* p = op.params_as_Gather()) return has_kind(p->kind());
  if (const fbs::Scatter* p = op.params_as_Scatter()) return has_kind(p->kind()) && has_kind(p->where());
  return true;
}

// How kernels dequantize: Int8 with a scale per output, both with a scale per 32 inputs, without zero points.
// Stacks of matrices have their scales in blocks, which their lowering checks.
bool unpacks(const Type& type, bool stacked) {
  const bool blocks = type.block == kScaleBlock || (type.dtype == fbs::DType::Int8 && (type.block > 0) == stacked);
  return type.zero_point == 0 && type.axis == 0 && blocks;
}

// The types that input `i` may have.
TypeSet types_of(fbs::OpParams type, const Entry* entry, unsigned i) {
  const bool numbers =
      type == fbs::OpParams::Experts || type == fbs::OpParams::Gather || type == fbs::OpParams::Scatter;
  if (numbers && i == 1) return kInt32;  // of experts, of indices
  return entry != nullptr && is_weight(type, i) ? entry->weights : kFloats;
}

}  // namespace

Status serves(const fbs::Operator& op, std::span<const Type> inputs) {
  const char* name = op_name(op.params_type());
  const Entry* entry = find(op.params_type());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const TypeSet set = types_of(op.params_type(), entry, static_cast<unsigned>(i));
    if ((set_of(inputs[i]) & set) == 0)
      return unsupported("%s: input %zu is of type %s, the GPU backend takes %s", name, i, in_words(inputs[i]).c_str(),
                         in_words(set).c_str());
    if (inputs[i].quantized && !unpacks(inputs[i], op.params_type() == fbs::OpParams::Experts))
      return unsupported(
          "%s: input %zu is of type %s, along axis %d, in blocks of %d, with the zero point %d; the GPU "
          "backend takes Int8 with a scale an output, and both in blocks of 32, without zero points",
          name, i, in_words(inputs[i]).c_str(), inputs[i].axis, inputs[i].block, inputs[i].zero_point);
  }
  if (entry == nullptr || !has_kind(op)) return unsupported("the GPU backend has no %s of this kind", name);
  return {};
}

bool has_epilogue(fbs::OpParams type) {
  const Entry* entry = find(type);
  return entry != nullptr && entry->epilogue;
}

bool may_ride(const fbs::Operator& op) {
  const fbs::Unary* unary = op.params_as_Unary();
  return unary == nullptr || (unary->kind() != fbs::UnaryKind::Sin && unary->kind() != fbs::UnaryKind::Cos);
}

int alternatives(fbs::OpParams type) {
  const Entry* entry = find(type);
  return entry != nullptr ? entry->alternatives : 0;
}

Status lower(const Problem& problem, int alternative, Lowering* out) {
  return find(problem.op.params_type())->lower(problem, alternative, out);
}

Status unsupported(const char* format, ...) {
  char message[320];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  return error(FERRY_UNSUPPORTED, "%s", message);
}

}  // namespace ferry::gpu
