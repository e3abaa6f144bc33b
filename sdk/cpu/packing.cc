#include "sdk/cpu/packing.h"

#include <bit>
#include <cstring>

#include "sdk/operators/shape_rules.h"
#include "sdk/model/seeded.h"

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

PackingId::PackingId(std::string_view layout, uint32_t version) : hash_(fnv1a64(layout)) { add(version); }

PackingId& PackingId::add(uint64_t number) {
  char bytes[sizeof number];
  std::memcpy(bytes, &number, sizeof number);
  hash_ = fnv1a64({bytes, sizeof bytes}, hash_);
  return *this;
}

Status WeightSource::load(const void** weight, const float** bias) {
  if (!loaded_) {
    FERRY_TRY(constant_input(model_, op_, 1, &weight_));
    FERRY_TRY(constant_input(model_, op_, 2, &bias_));
    FERRY_TRY(transform(&weight_, &bias_));
    loaded_ = true;
  }
  *weight = weight_.data;
  *bias = bias_.data;
  return {};
}

PackedKey WeightSource::key(PackingId id, uint32_t part) const {
  PackedKey key;
  for (const unsigned input : {1u, 2u}) {
    if (input >= op_.inputs()->size()) break;
    const fbs::Tensor& constant = model_.tensor(op_.inputs()->Get(input));
    (input == 1 ? key.weight : key.bias) = constant.buffer();
    id.add(static_cast<uint64_t>(constant.dtype()));
    for (const int32_t size : *constant.shape()) id.add(static_cast<uint64_t>(size));
  }
  describe(&id);
  key.packing = id.value();
  key.part = part;
  return key;
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
