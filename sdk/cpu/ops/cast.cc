#include <bit>
#include <cstdint>

#include "sdk/cpu/backend/lowerings.h"
#include "sdk/cpu/elementwise/unary.h"

namespace ferry::cpu {
namespace {

int32_t to_int32(int32_t value) { return value; }

int32_t to_int32(float value) {
  if (value >= 0x1p31f) return INT32_MAX;
  return value > -0x1p31f ? static_cast<int32_t>(value) : value != value ? 0 : INT32_MIN;
}

// Float32 to bfloat16: the upper 16 bits, rounded.
float to_bfloat(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  return value != value ? value : std::bit_cast<float>((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000);
}

template <typename From, fbs::DType kTo>
void convert(const float* input, float* y, size_t count, float, float) {
  const From* x = reinterpret_cast<const From*>(input);
  int32_t* integers = reinterpret_cast<int32_t*>(y);
  for (size_t i = 0; i < count; ++i) {
    switch (kTo) {
      case fbs::DType::Float32: y[i] = static_cast<float>(x[i]); break;
      case fbs::DType::BFloat16: y[i] = to_bfloat(static_cast<float>(x[i])); break;
      case fbs::DType::Bool: integers[i] = x[i] != 0; break;
      case fbs::DType::Int8: integers[i] = static_cast<int8_t>(to_int32(x[i])); break;
      case fbs::DType::UInt8: integers[i] = static_cast<uint8_t>(to_int32(x[i])); break;
      case fbs::DType::Int16: integers[i] = static_cast<int16_t>(to_int32(x[i])); break;
      case fbs::DType::UInt16: integers[i] = static_cast<uint16_t>(to_int32(x[i])); break;
      case fbs::DType::Float16:
      case fbs::DType::Float64:  // conversion() replaces both by Float32
      case fbs::DType::Int32:
      case fbs::DType::Int64:
      case fbs::DType::UInt32:
      case fbs::DType::UInt64:
      case fbs::DType::Int4: integers[i] = to_int32(x[i]); break;
    }
  }
}

template <typename From>
Elementwise conversion(fbs::DType to) {
  switch (to) {
    case fbs::DType::Float16:
    case fbs::DType::Float32:
    case fbs::DType::Float64: return {convert<From, fbs::DType::Float32>};
    case fbs::DType::BFloat16: return {convert<From, fbs::DType::BFloat16>};
    case fbs::DType::Bool: return {convert<From, fbs::DType::Bool>};
    case fbs::DType::Int8: return {convert<From, fbs::DType::Int8>};
    case fbs::DType::UInt8: return {convert<From, fbs::DType::UInt8>};
    case fbs::DType::Int16: return {convert<From, fbs::DType::Int16>};
    case fbs::DType::UInt16: return {convert<From, fbs::DType::UInt16>};
    case fbs::DType::Int32:
    case fbs::DType::Int64:
    case fbs::DType::UInt32:
    case fbs::DType::UInt64:
    case fbs::DType::Int4: break;
  }
  return {convert<From, fbs::DType::Int32>};
}

}  // namespace

Status create_cast(const CpuFeatures&, const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  const bool integer = model.tensor(op.inputs()->Get(0)).dtype() == fbs::DType::Int32;
  const fbs::DType to = op.params_as_Cast()->to();
  *out = std::make_unique<ElementwiseOp>(integer ? conversion<int32_t>(to) : conversion<float>(to));
  return {};
}

}  // namespace ferry::cpu
