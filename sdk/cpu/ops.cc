#include <xnnpack.h>

#include "sdk/cpu/linear_quantized.h"
#include "sdk/cpu/lowerings.h"
#include "sdk/operators/type_rules.h"

namespace ferry::cpu {
namespace {

// A lowering of its own for a weight of these types.
struct Entry {
  fbs::OpParams op;
  TypeSet weights;
  Status (*create)(const CpuFeatures& cpu, const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out);
};

constexpr Entry kEntries[] = {
    {fbs::OpParams::Conv2d, kQuantized, create_linear_quantized},
    {fbs::OpParams::Linear, kQuantized, create_linear_quantized},
};

}  // namespace

Status create_op(const CpuFeatures& cpu, const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  out->reset();
  const fbs::OpParams type = op.params_type();
  for (const Entry& entry : kEntries)
    if (entry.op == type && (entry.weights & set_of(type_of(model.tensor(op.inputs()->Get(1))))) != 0)
      return entry.create(cpu, model, op, out);
  switch (type) {
#define FERRY_LOWERING(Type, name, ...) \
  case fbs::OpParams::Type: return create_##name(cpu, model, op, out);
    FERRY_OPERATORS(FERRY_LOWERING)
#undef FERRY_LOWERING
    case fbs::OpParams::NONE: break;
  }
  return error(FERRY_UNSUPPORTED, "%s: the CPU backend has no such operator", op_name(type));
}

Status initialize() {
  if (const xnn_status status = xnn_initialize(/*allocator=*/nullptr); status != xnn_status_success)
    return error(status == xnn_status_out_of_memory ? FERRY_OUT_OF_MEMORY : FERRY_UNSUPPORTED,
                 "XNNPACK cannot be initialized on this CPU (status %d)", static_cast<int>(status));
  return {};
}

}  // namespace ferry::cpu
