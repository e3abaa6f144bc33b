#include "sdk/reference/ops.h"

namespace ferry::reference {

void fill_outputs(Function function, const fbs::Operator& op, Inputs operands, std::span<Array> outputs) {
  Array& output = outputs[0];
  output.values.assign(static_cast<size_t>(output.shape.elements()), 0);
  function(op, operands, output);
  for (size_t i = 1; i < outputs.size(); ++i)
    outputs[i].values = bounds_loop(op.params_type()) ? loop_output(op, operands, output, i)
                                                      : values_at(*operands[0], output);  // top_k's
}

std::vector<double> state_after(const fbs::Operator& op, Inputs operands, const Array& output) {
  switch (op.params_type()) {
    case fbs::OpParams::Append: return output.values;
    case fbs::OpParams::CausalConv1d: return inputs_after(operands);
    case fbs::OpParams::GatedDeltaRule: return matrices_after(operands);
#define FERRY_STATELESS(Type, ...) case fbs::OpParams::Type:
      FERRY_OPERATORS_ON_GPU(FERRY_STATELESS)
      FERRY_OPERATORS_ON_CPU(FERRY_STATELESS)
#undef FERRY_STATELESS
    case fbs::OpParams::Positions:
    case fbs::OpParams::NONE: break;
  }
  return {};
}

}  // namespace ferry::reference
