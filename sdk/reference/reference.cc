#include "sdk/reference/reference.h"

#include <cmath>
#include <limits>

#include "sdk/operators/type_rules.h"
#include "sdk/reference/int8.h"
#include "sdk/reference/ops.h"

namespace ferry::reference {
namespace {

Array held_by(const State& state) {
  Array held{state.shape.shape(), state.values, state.shape.dtype};
  if (state.shape.fixed()) held.values.resize(static_cast<size_t>(held.shape.elements()));  // zeros at first
  return held;
}

double to_float16(double value) {
  if (!std::isfinite(value)) return value;
  const double step = std::ldexp(1.0, std::max(std::ilogb(value), -14) - 10);  // ilogb(0) is below all others
  const double rounded = std::nearbyint(value / step) * step;
  return std::fabs(rounded) > 65504 ? std::copysign(std::numeric_limits<double>::infinity(), value) : rounded;
}

// `row` as a state of that type holds it.
void round_to(const StateShape& state, std::vector<double>* row) {
  if (state.dtype == fbs::DType::Float16)
    for (double& value : *row) value = to_float16(value);
  if (state.dtype != fbs::DType::Int8) return;
  const auto block = static_cast<size_t>(state.block);
  for (size_t first = 0; first < row->size(); first += block) {
    double largest = 0;
    for (size_t i = 0; i < block; ++i) largest = std::max(largest, std::fabs((*row)[first + i]));
    const double scale = largest / 127;
    for (size_t i = 0; i < block && scale > 0; ++i)
      (*row)[first + i] = std::nearbyint((*row)[first + i] / scale) * scale;
  }
}

// Every index of a Gather or a Scatter along its dimension of `x`.
Status check_indices(fbs::GatherKind kind, int axis, const Shape& x, const Array& indices) {
  Status status;
  for_each_element(indices.shape, [&](size_t i, const Coordinates& at) {
    const int last = static_cast<int>(at[static_cast<size_t>(std::max(indices.shape.rank - 1, 0))]);
    const int64_t size = x[kind == fbs::GatherKind::Tuples ? axis + last : axis];
    const auto index = static_cast<int64_t>(indices.values[i]);
    if (status.ok() && (index < -size || index >= size))
      status = error(FERRY_INVALID_ARGUMENT, "index %lld is outside %lld", static_cast<long long>(index),
                     static_cast<long long>(size));
  });
  return status;
}

// The inputs whose values choose what is read. Their shapes have been checked.
Status check_values(const fbs::Operator& op, Inputs inputs) {
  if (const fbs::Gather* p = op.params_as_Gather())
    return check_indices(p->kind(), p->axis(), inputs[0]->shape, *inputs[1]);
  if (const fbs::Scatter* p = op.params_as_Scatter())
    return check_indices(p->where(), p->axis(), inputs[0]->shape, *inputs[1]);
  if (const fbs::LoopBegin* p = op.params_as_LoopBegin(); p != nullptr && !p->unlimited())
    if (const auto steps = static_cast<int64_t>(inputs[1]->values[0]); steps > inputs[0]->shape[0])
      return error(FERRY_INVALID_ARGUMENT, "a loop of %lld steps, at most %d can be computed",
                   static_cast<long long>(steps), inputs[0]->shape[0]);
  if (op.params_type() != fbs::OpParams::Experts) return {};
  for (const double value : inputs[1]->values)
    if (const auto expert = static_cast<int64_t>(value); expert < 0 || expert >= inputs[3]->shape[0])
      return error(FERRY_INVALID_ARGUMENT, "expert %lld was chosen", static_cast<long long>(expert));
  return {};
}

Type type_of(const Array& array) {
  if (array.quantized) return {fbs::DType::Int8, true};
  if (array.dtype != fbs::DType::Int8 || array.scales.empty()) return {array.dtype};
  Type type{fbs::DType::Int8, true};
  if (array.activation) type.float_scale = array.scales[0];
  type.zero_point = array.zero_point;
  return type;
}

}  // namespace

Status compute(const fbs::Operator& op, Inputs inputs, std::span<const State> states, std::vector<Array>* outputs,
               const Type& quantization) {
  std::vector<Shape> shapes;
  std::vector<Type> types;
  for (const Array* input : inputs) {
    if (input->values.size() != static_cast<size_t>(input->shape.elements()))
      return error(FERRY_SHAPE_MISMATCH, "%s: input %zu has %zu values for shape %s", op_name(op.params_type()),
                   shapes.size(), input->values.size(), in_words(input->shape).c_str());
    shapes.push_back(input->shape);
    types.push_back(type_of(*input));
  }
  std::vector<StateShape> state_shapes;
  for (const State& state : states) state_shapes.push_back(state.shape);
  const size_t named = op.outputs() == nullptr ? 1 : std::max(op.outputs()->size(), 1u);
  std::vector<Shape> output_shapes(named);
  std::vector<Type> output_types(named);
  FERRY_TRY(infer_shapes(op, shapes, state_shapes, output_shapes));
  FERRY_TRY(infer_types(op, types, output_types));
  FERRY_TRY(check_values(op, inputs));
  outputs->clear();
  for (size_t i = 0; i < named; ++i) outputs->push_back({output_shapes[i], {}, output_types[i].dtype});
  const Type& type = output_types[0];
  if (type.quantized) {
    outputs->front().scales = {quantization.float_scale};
    outputs->front().zero_point = quantization.zero_point;
    outputs->front().activation = true;
  }
  std::vector<const Array*> operands(inputs.begin(), inputs.end());
  Array held, rounded;
  if (names_state(op.params_type())) {
    const State& state = states[state_of(op)];
    if (op.params_type() == fbs::OpParams::Append && state.shape.block > 0) {
      rounded = *inputs[0];
      round_to(state.shape, &rounded.values);
      operands[0] = &rounded;
    }
    held = op.params_type() == fbs::OpParams::Positions ? Array{{state.shape.length}, {}} : held_by(state);
    operands.push_back(&held);
  }
  const bool integers = set_of(types[0]) == kInt8 || type.quantized;
  fill_outputs(integers ? int8_function_of(op.params_type()) : function_of(op.params_type()), op, operands, *outputs);
  return {};
}

State changed_state(const fbs::Operator& op, Inputs inputs, const Array& output, const State& before) {
  State after = before;
  after.shape.length = before.shape.length_after(inputs.front()->shape);
  const Array held = held_by(before);
  std::vector<const Array*> operands(inputs.begin(), inputs.end());
  operands.push_back(&held);
  after.values = state_after(op, operands, output);
  return after;
}

}  // namespace ferry::reference
