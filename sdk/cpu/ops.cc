#include <xnnpack.h>

#include "sdk/cpu/linear_quantized.h"
#include "sdk/cpu/lowerings.h"
#include "sdk/operators/type_rules.h"

namespace ferry::cpu {

Status create_op(const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  out->reset();
  if (has_weight(op.params_type()) && type_of(model.tensor(op.inputs()->Get(1))).quantized)
    return create_linear_quantized(model, op, out);
  switch (op.params_type()) {
#define FERRY_LOWERING(Type, name, ...) \
  case fbs::OpParams::Type: return create_##name(model, op, out);
    FERRY_OPERATORS(FERRY_LOWERING)
#undef FERRY_LOWERING
    case fbs::OpParams::NONE: break;
  }
  return error(FERRY_UNSUPPORTED, "%s: the CPU backend has no such operator", op_name(op.params_type()));
}

Status initialize() {
  if (const xnn_status status = xnn_initialize(/*allocator=*/nullptr); status != xnn_status_success)
    return error(status == xnn_status_out_of_memory ? FERRY_OUT_OF_MEMORY : FERRY_UNSUPPORTED,
                 "XNNPACK cannot be initialized on this CPU (status %d)", static_cast<int>(status));
  return {};
}

}  // namespace ferry::cpu
