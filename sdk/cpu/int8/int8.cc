#include "sdk/cpu/int8/int8.h"

#include "sdk/operators/operators.h"

namespace ferry::cpu {

Status create_int8_op(const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  if (!is_int8(model, op.inputs()->Get(0)) && !is_int8(model, output_of(op))) return {};
  switch (op.params_type()) {
    case fbs::OpParams::Requantize: return create_int8_requantize(model, op, out);
    case fbs::OpParams::Lookup: return create_int8_lookup(model, op, out);
    case fbs::OpParams::Binary: return create_int8_binary(model, op, out);
    case fbs::OpParams::Pool2d: return create_int8_pool2d(model, op, out);
    case fbs::OpParams::Reduce: return create_int8_reduce(model, op, out);
    case fbs::OpParams::Resize2d: return create_int8_resize2d(model, op, out);
    default: return {};
  }
}

}  // namespace ferry::cpu
