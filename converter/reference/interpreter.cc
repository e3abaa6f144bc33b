#include "converter/reference/interpreter.h"

#include <algorithm>

#include "sdk/operators/loops.h"

namespace ferry::reference {

Array constant(const Graph& graph, TensorId tensor, Rows rows) {
  const bool quantized = graph.type(tensor).quantized;
  const fbs::DType dtype = quantized ? fbs::DType::Float32 : graph.dtype(tensor);
  return {graph.shape(tensor), graph.values(tensor), dtype, quantized, quantized && rows == Rows::Rounded};
}

Array integer_constant(const Graph& graph, TensorId tensor) {
  const Type type = graph.type(tensor);
  if (graph.at(tensor).dtype != fbs::DType::Int8) return constant(graph, tensor);  // a bias
  Array out{graph.shape(tensor), {}, fbs::DType::Int8};
  const Constant stored = graph.constant(tensor);
  for (const std::byte byte : stored.bytes) out.values.push_back(static_cast<int8_t>(byte));
  if (stored.done) stored.done();
  out.activation = type.float_scale != 0;
  out.zero_point = type.zero_point;
  if (out.activation) out.scales = {type.float_scale};
  if (type.quantized && !out.activation)
    for (const double scale : graph.values(type.scale)) out.scales.push_back(static_cast<float>(scale));
  return out;
}

std::vector<State> empty_states(const Graph& graph) {
  std::vector<State> states;
  for (const StateShape& shape : graph.state_shapes()) states.push_back({shape});
  return states;
}

size_t end_step(size_t place, const std::function<const fbs::OperatorT&(size_t)>& op_at, Inputs inputs,
                const std::vector<Array>& outputs, std::map<TensorId, Array>* values) {
  using At = LoopEndInputs;
  const fbs::OperatorT& end = op_at(place);
  const auto states = static_cast<size_t>(end.params.AsLoopEnd()->states);
  const Array index = *inputs[At::kIndex];
  const bool follows = another_step(*SerializedOp(end), inputs);
  std::vector<Array> next;
  for (size_t i = 0; i < states; ++i) next.push_back(*inputs[At::kStates + states + i]);
  for (size_t k = 0; k < outputs.size(); ++k) {
    Array& value = (*values)[end.outputs[k]];
    const bool rows = k > states && index.values[0] > 0;
    const std::vector<double> before = rows ? value.values : std::vector<double>();
    value = outputs[k];
    const size_t done =
        before.size() / static_cast<size_t>(std::max(value.shape[0], 1)) * static_cast<size_t>(index.values[0]);
    std::copy_n(before.begin(), done, value.values.begin());
  }
  if (!follows) return place;
  (*values)[end.inputs[At::kIndex]].values[0] = index.values[0] + 1;
  for (size_t i = 0; i < states; ++i) (*values)[end.inputs[At::kStates + i]] = next[i];
  while (op_at(place).params.type != fbs::OpParams::LoopBegin || op_at(place).outputs.front() != end.inputs[At::kIndex])
    --place;
  return place;
}

std::map<TensorId, Array> interpret(const Graph& graph, const std::vector<Array>& inputs, std::vector<State>* states,
                                    Rows rows) {
  const auto& model = graph.table;
  if (inputs.size() != model.inputs.size())
    fail("%zu inputs for a graph that has %zu", inputs.size(), model.inputs.size());
  std::map<TensorId, Array> values;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const TensorId tensor = model.inputs[i]->tensor;
    const Shape declared = graph.shape(tensor);
    const bool fits = states != nullptr ? inputs[i].shape.rank == declared.rank : inputs[i].shape == declared;
    if (!fits)
      fail("input '%s' has shape %s, expected %s", model.inputs[i]->name.c_str(), to_string(inputs[i].shape).c_str(),
           to_string(declared).c_str());
    values[tensor] = inputs[i];
  }
  std::vector<State> empty = empty_states(graph);
  std::vector<State>& before = states != nullptr ? *states : empty;
  std::vector<State> after = before;
  for (size_t place = 0; place < model.operators.size(); ++place) {
    const auto& op = model.operators[place];
    std::vector<const Array*> arguments;
    for (TensorId input : op->inputs) {
      if (graph.is_constant(input) && !values.contains(input))
        values[input] = !arguments.empty() && arguments[0]->activation ? integer_constant(graph, input)
                                                                       : constant(graph, input, rows);
      arguments.push_back(&values.at(input));
    }
    const SerializedOp serialized(*op);
    const std::vector<Array> outputs =
        compute_all(*serialized, arguments, before, type_of(graph.at(op->outputs.front())));
    if (op->params.type == fbs::OpParams::LoopEnd) {
      const auto op_at = [&](size_t i) -> const fbs::OperatorT& { return *model.operators[i]; };
      place = end_step(place, op_at, arguments, outputs, &values);
      continue;
    }
    for (size_t i = 0; i < outputs.size(); ++i) values[op->outputs[i]] = outputs[i];
    if (!changes_state(op->params.type)) continue;
    const uint32_t state = state_of(*serialized);
    after[state] = changed_state(*serialized, arguments, outputs.front(), before[state]);
  }
  before = std::move(after);
  return values;
}

}  // namespace ferry::reference
