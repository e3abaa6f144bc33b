#include "sdk/cpu/xnn.h"

#include "sdk/graph/shape_rules.h"

namespace ferry::cpu {
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
  const StoredConstant stored = model.stored(tensor);
  if (stored.type.dtype == fbs::DType::Float32) {
    out->data = reinterpret_cast<const float*>(stored.bytes.data());
    return {};
  }
  out->storage.resize(static_cast<size_t>(stored.shape.elements()));
  read_numbers(stored, out->storage.data());
  out->data = out->storage.data();
  return {};
}

}  // namespace ferry::cpu
