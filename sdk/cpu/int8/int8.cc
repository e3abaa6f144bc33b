#include "sdk/cpu/int8/int8.h"

#include "sdk/operators/operators.h"

namespace ferry::cpu {

Status check_multiplier(const fbs::Operator& op, float multiplier) {
  if (std::isfinite(multiplier)) return {};
  return error(FERRY_UNSUPPORTED, "%s: the quotient of its scales is %g, expected a finite number",
               op_name(op.params_type()), static_cast<double>(multiplier));
}

Status create_int8_op(const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  if (!is_int8(model, op.inputs()->Get(0)) && !is_int8(model, output_of(op))) return {};
  switch (op.params_type()) {
    case fbs::OpParams::Binary: return create_int8_binary(model, op, out);
    case fbs::OpParams::Pool2d: return create_int8_pool2d(model, op, out);
    case fbs::OpParams::Reduce: return create_int8_reduce(model, op, out);
    case fbs::OpParams::Resize2d: return create_int8_resize2d(model, op, out);
    default: return {};
  }
}

}  // namespace ferry::cpu
