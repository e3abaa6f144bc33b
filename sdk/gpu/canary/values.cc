#include "sdk/gpu/canary/values.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "sdk/gpu/canary/shapes.h"
#include "sdk/gpu/lowering/partition.h"
#include "sdk/model/elements.h"
#include "sdk/operators/operators.h"

namespace ferry::gpu {
namespace {

// On [-1, -0.25] and [0.25, 1], a multiple of 2^-10, exact in float16.
float noise(TensorId tensor, size_t i) {
  uint32_t hash = index_of(tensor) * 0x9e3779b9u + static_cast<uint32_t>(i) * 0x85ebca6bu + 1;
  hash = (hash ^ hash >> 16) * 0x7feb352du;
  hash = (hash ^ hash >> 15) * 0x846ca68bu;
  hash ^= hash >> 16;
  const float magnitude = static_cast<float>(256 + (hash >> 1) % 769) / 1024;
  return hash % 2 == 0 ? magnitude : -magnitude;
}

// To the eleven bits of float16; the exponent is unchanged.
float rounded(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  return std::bit_cast<float>((bits + 0xfff + (bits >> 13 & 1)) & 0xffffe000u);
}

uint16_t to_float16(float exact) {
  const uint32_t bits = std::bit_cast<uint32_t>(exact);
  return static_cast<uint16_t>((bits >> 16 & 0x8000) | ((bits >> 23 & 0xff) - 112) << 10 | (bits >> 13 & 0x3ff));
}

// An element that stands for `value`; of integers the one at that part of their range.
uint32_t to_bits(float value, fbs::DType type) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if (type == fbs::DType::Float16) return to_float16(value);
  if (type == fbs::DType::BFloat16) return bits >> 16;
  if (type != fbs::DType::Int8 && type != fbs::DType::Int4) return bits;
  const int range = 1 << (bits_of(type) - 1);
  const int integer = std::min(static_cast<int>(std::floor(value * static_cast<float>(range))), range - 1);
  return static_cast<uint32_t>(integer) & static_cast<uint32_t>(2 * range - 1);
}

}  // namespace

bool wants_positive(const Model& model, const std::vector<int>& operators) {
  TensorId value = TensorId::None;
  for (int index : operators) {
    const fbs::Operator& op = operator_at(model, index);
    const fbs::Unary* unary = op.params_as_Unary();
    if (unary != nullptr && (unary->kind() == fbs::UnaryKind::Sqrt || unary->kind() == fbs::UnaryKind::Log))
      return true;
    const fbs::Binary* binary = op.params_as_Binary();
    if (binary != nullptr && binary->kind() == fbs::BinaryKind::Div && op.inputs()->Get(1) == value) return true;
    value = output_of(op);
  }
  return false;
}

Array made_up_input(const fbs::Operator& op, TensorId tensor, const Shape& shape, bool positive) {
  Array out{shape, std::vector<double>(static_cast<size_t>(shape.elements()))};
  const size_t length = static_cast<size_t>(rows_of(shape).channels);
  const fbs::Pool2d* pool = op.params_as_Pool2d();
  const fbs::Unary* unary = op.params_as_Unary();
  const bool saturates =
      unary != nullptr && (unary->kind() == fbs::UnaryKind::Sigmoid || unary->kind() == fbs::UnaryKind::Tanh);
  const bool turns = unary != nullptr && (unary->kind() == fbs::UnaryKind::Sin || unary->kind() == fbs::UnaryKind::Cos);
  for (size_t i = 0; i < out.values.size(); ++i) {
    float value = noise(tensor, i);
    if (positive) value = std::abs(value);
    if (unary != nullptr) value *= i % 31 != 0 ? 4 : saturates ? 96 : turns ? 0x1p15f : 4;
    // Windows with nothing above zero.
    if (pool != nullptr && pool->kind() == fbs::PoolKind::Max) value -= 0.75f;
    // Groups of other means.
    if (op.params_type() == fbs::OpParams::LayerNorm || op.params_type() == fbs::OpParams::GroupNorm)
      value += 0.5f * static_cast<float>(i % length % 5);
    // Rows whose exponentials overflow, and such that vanish.
    if (op.params_type() == fbs::OpParams::Softmax) {
      constexpr float kOffsets[] = {100, -200, 0};
      value = 4 * value + kOffsets[i / length % 3];
    }
    // Numbers of experts, of which canaries have that many.
    if (op.params_type() == fbs::OpParams::Experts && op.inputs()->Get(1) == tensor)
      value = static_cast<float>(i % kCanaryExperts);
    // Places counted from either end.
    const bool by_place = op.params_type() == fbs::OpParams::Gather || op.params_type() == fbs::OpParams::Scatter;
    if (by_place && op.inputs()->Get(1) == tensor)
      value = static_cast<float>(static_cast<int>(i * 5 % (2 * kCanaryRow)) - kCanaryRow);
    // Keys about as long as normalised ones.
    if (op.params_type() == fbs::OpParams::GatedDeltaRule && tensor == op.inputs()->Get(1)) value /= 8;
    out.values[i] = static_cast<double>(rounded(value));
  }
  return out;
}

float MadeUpConstants::value(TensorId tensor, size_t i) const {
  const Entry& entry = entries_.at(tensor);
  const float value = noise(tensor, i) * (model_.tensor(tensor).quantization() == nullptr ? entry.scale : 1);
  return entry.positive ? std::abs(value) : value;
}

Array MadeUpConstants::array(TensorId tensor, const Shape& shape) const {
  std::vector<float> values(static_cast<size_t>(shape.elements()));
  StoredConstant stored{type_of(model_.tensor(tensor)), shape, bytes(tensor)};
  if (stored.type.quantized) {
    stored.scales = bytes(stored.type.scale);
    stored.scale_dtype = dtype(stored.type.scale);
  }
  read_elements(stored, values.data());
  return {shape, {values.begin(), values.end()}};
}

Status MadeUpConstants::fill() {
  uint64_t bytes = 0;
  for (auto& [tensor, entry] : entries_) {
    entry.offset = bytes;
    bytes += aligned(bytes_of(dtype(tensor), static_cast<int64_t>(entry.elements)) + kExtraBytes, kAlignment);
  }
  void* memory = nullptr;
  if (posix_memalign(&memory, alignment_, aligned(std::max<uint64_t>(bytes, 1), alignment_)) != 0)
    return error(FERRY_OUT_OF_MEMORY, "cannot allocate %llu bytes for canaries",
                 static_cast<unsigned long long>(bytes));
  memory_.reset(static_cast<std::byte*>(memory));
  std::memset(memory, 0, bytes);
  for (const auto& [tensor, entry] : entries_)
    for (size_t i = 0; i < entry.elements; ++i) {
      const fbs::DType type = dtype(tensor);
      std::byte* at = memory_.get() + entry.offset + bytes_of(type, static_cast<int64_t>(i));
      const unsigned shift = type == fbs::DType::Int4 ? i % 2 * 4 : 0;
      const uint32_t bits = to_bits(value(tensor, i), type) << shift;
      for (unsigned byte = 0; byte < std::max(bits_of(type) / 8, 1u); ++byte)
        at[byte] |= static_cast<std::byte>(bits >> (8 * byte));
    }
  return {};
}

}  // namespace ferry::gpu
