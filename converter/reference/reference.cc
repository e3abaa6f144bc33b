#include "converter/reference/reference.h"

#include "converter/error.h"
#include "converter/reference/ops.h"
#include "sdk/operators/shape_rules.h"
#include "sdk/operators/type_rules.h"

namespace ferry::reference {
namespace {

Array held_by(const State& state) {
  Array held{state.shape.shape(), state.values, state.shape.dtype};
  if (state.shape.fixed()) held.values.resize(static_cast<size_t>(held.shape.elements()));  // zeros at first
  return held;
}

}  // namespace

Array compute(const fbs::Operator& op, std::span<const Array* const> inputs, std::span<const State> states) {
  std::vector<Shape> shapes;
  std::vector<Type> types;
  for (const Array* input : inputs) {
    if (input->values.size() != static_cast<size_t>(input->shape.elements()))
      fail("%s: input %zu has %zu values for shape %s", op_name(op.params_type()), shapes.size(), input->values.size(),
           to_string(input->shape).c_str());
    shapes.push_back(input->shape);
    types.push_back(input->quantized ? Type{fbs::DType::Int8, true} : Type{input->dtype});
  }
  std::vector<StateShape> state_shapes;
  for (const State& state : states) state_shapes.push_back(state.shape);
  Array output;
  Type type;
  Status status = infer_shape(op, shapes, &output.shape, state_shapes);
  if (status.ok()) status = infer_type(op, types, &type);
  if (!status.ok()) fail("%s", status.message().data());
  output.dtype = type.dtype;
  output.values.resize(static_cast<size_t>(output.shape.elements()));
  std::vector<const Array*> operands(inputs.begin(), inputs.end());
  Array held;
  if (names_state(op.params_type())) {
    const State& state = states[state_of(op)];
    held = op.params_type() == fbs::OpParams::Positions ? Array{{state.shape.length}, {}} : held_by(state);
    operands.push_back(&held);
  }
  switch (op.params_type()) {
#define FERRY_ORACLE(Type, name, ...) \
  case fbs::OpParams::Type: name(op, operands, output); return output;
    FERRY_OPERATORS(FERRY_ORACLE)
#undef FERRY_ORACLE
    case fbs::OpParams::NONE: break;
  }
  fail("%s: the reference has no such operator", op_name(op.params_type()));
}

std::vector<Array> compute_all(const fbs::Operator& op, std::span<const Array* const> inputs,
                               std::span<const State> states) {
  std::vector<Array> outputs = {compute(op, inputs, states)};
  if (op.params_as_TopK() != nullptr && op.outputs()->size() > 1)
    outputs.push_back(values_at(*inputs.front(), outputs.front()));
  return outputs;
}

State changed_state(const fbs::Operator& op, std::span<const Array* const> inputs, const Array& output,
                    const State& before) {
  State after = before;
  after.shape.length = before.shape.length_after(inputs.front()->shape);
  const Array held = held_by(before);
  std::vector<const Array*> operands(inputs.begin(), inputs.end());
  operands.push_back(&held);
  switch (op.params_type()) {
    case fbs::OpParams::Append: after.values = output.values; break;
    case fbs::OpParams::CausalConv1d: after.values = inputs_after(operands); break;
    case fbs::OpParams::GatedDeltaRule: after.values = matrices_after(operands); break;
    default: fail("%s: changes no state", op_name(op.params_type()));
  }
  return after;
}

}  // namespace ferry::reference
