#include <xnnpack.h>

#include <iterator>

#include "sdk/cpu/linear_quantized.h"
#include "sdk/cpu/lowerings.h"
#include "sdk/operators/type_rules.h"

namespace ferry::cpu {
namespace {

constexpr TypeSet kAllOthers = ~0u;

// An operator whose weight, or else first input, is of one of the types, and its lowering.
struct Entry {
  fbs::OpParams op;
  TypeSet types;
  Status (*create)(const CpuFeatures& cpu, const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out);
};

// The first that fits holds.
constexpr Entry kEntries[] = {{fbs::OpParams::Conv2d, kQuantized, create_linear_quantized},
                              {fbs::OpParams::Linear, kQuantized, create_linear_quantized},
#define FERRY_ENTRY(Type, name, ...) {fbs::OpParams::Type, kAllOthers, create_##name},
                              FERRY_OPERATORS(FERRY_ENTRY)
#undef FERRY_ENTRY
};

}  // namespace

Status create_op(const CpuFeatures& cpu, const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  out->reset();
  const fbs::OpParams type = op.params_type();
  const TypeSet set = set_of(type_of(model.tensor(op.inputs()->Get(has_weight(type) ? 1 : 0))));
  for (const Entry& entry : kEntries)
    if (entry.op == type && (entry.types & set) != 0) return entry.create(cpu, model, op, out);
  return error(FERRY_UNSUPPORTED, "%s: the CPU backend has no such operator", op_name(type));
}

Status initialize() {
  if (const xnn_status status = xnn_initialize(/*allocator=*/nullptr); status != xnn_status_success)
    return error(status == xnn_status_out_of_memory ? FERRY_OUT_OF_MEMORY : FERRY_UNSUPPORTED,
                 "XNNPACK cannot be initialized on this CPU (status %d)", static_cast<int>(status));
  return {};
}

}  // namespace ferry::cpu
