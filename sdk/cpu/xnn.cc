#include "sdk/cpu/xnn.h"

#include <bit>
#include <cstring>

#include "sdk/operators/shape_rules.h"

namespace ferry::cpu {
namespace {

float widen(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16;
  const uint32_t exponent = (half >> 10) & 31u;
  const uint32_t mantissa = half & 1023u;
  if (exponent == 0) {  // zero and subnormals: multiples of 2^-24
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return sign ? -magnitude : magnitude;
  }
  const uint32_t wide = exponent == 31 ? 255u : exponent + (127 - 15);
  return std::bit_cast<float>(sign | (wide << 23) | (mantissa << 13));
}

}  // namespace

Status check(xnn_status status, fbs::OpParams type, const char* doing) {
  const char* name = op_name(type);
  switch (status) {
    case xnn_status_success: return {};
    case xnn_status_out_of_memory: return error(FERRY_OUT_OF_MEMORY, "%s: out of memory while %s", name, doing);
    case xnn_status_invalid_parameter:
    case xnn_status_unsupported_parameter:
    case xnn_status_unsupported_hardware:
      return error(FERRY_UNSUPPORTED, "%s: the CPU backend has no such operator (XNNPACK status %d while %s)", name,
                   static_cast<int>(status), doing);
    default: return error(FERRY_BACKEND_ERROR, "%s: XNNPACK status %d while %s", name, static_cast<int>(status), doing);
  }
}

Status constant_input(const Model& model, const fbs::Operator& op, unsigned index, FloatConstant* out) {
  *out = {};
  if (index >= op.inputs()->size()) return {};
  const int tensor = op.inputs()->Get(index);
  const std::span<const std::byte> bytes = model.constant(tensor);
  const fbs::DType dtype = model.tensor(tensor).dtype();
  if (dtype == fbs::DType::Float32) {
    out->data = reinterpret_cast<const float*>(bytes.data());
    return {};
  }
  if (dtype != fbs::DType::Float16)
    return error(FERRY_UNSUPPORTED, "%s: constant input %u is %s, the CPU backend expects Float32 or Float16",
                 op_name(op.params_type()), index, fbs::EnumNameDType(dtype));
  out->storage.resize(bytes.size() / 2);
  for (size_t i = 0; i < out->storage.size(); ++i) {
    uint16_t half;
    std::memcpy(&half, bytes.data() + 2 * i, 2);
    out->storage[i] = widen(half);
  }
  out->data = out->storage.data();
  return {};
}

}  // namespace ferry::cpu
