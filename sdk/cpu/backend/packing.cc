#include "sdk/cpu/backend/packing.h"

#include "sdk/operators/shape_rules.h"

namespace ferry::cpu {
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
    const Type type = type_of(constant);
    if (!type.quantized) continue;
    for (const int32_t number : {type.axis, type.block, type.zero_point}) id.add(static_cast<uint64_t>(number));
    id.add(model_.tensor(type.scale).buffer());
  }
  describe(&id);
  key.packing = id.value();
  key.part = part;
  return key;
}

Status constant_input(const Model& model, const fbs::Operator& op, unsigned index, FloatConstant* out) {
  *out = {};
  if (index >= op.inputs()->size()) return {};
  const StoredConstant stored = model.stored(op.inputs()->Get(index));
  if (stored.type.dtype == fbs::DType::Float32) {
    out->data = reinterpret_cast<const float*>(stored.bytes.data());
    return {};
  }
  out->storage.resize(static_cast<size_t>(stored.shape.elements()));
  read_elements(stored, out->storage.data());
  out->data = out->storage.data();
  return {};
}

}  // namespace ferry::cpu
