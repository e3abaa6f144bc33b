#include "converter/reference/interpreter.h"

namespace ferry::reference {

std::vector<State> empty_states(const Graph& graph) {
  std::vector<State> states;
  for (const StateShape& shape : graph.state_shapes()) states.push_back({shape});
  return states;
}

std::map<int, Array> interpret(const Graph& graph, const std::vector<Array>& inputs, std::vector<State>* states) {
  const auto& model = graph.table;
  if (inputs.size() != model.inputs.size())
    fail("%zu inputs for a graph that has %zu", inputs.size(), model.inputs.size());
  std::map<int, Array> values;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const int tensor = static_cast<int>(model.inputs[i]->tensor);
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
  for (const auto& op : model.operators) {
    std::vector<const Array*> arguments;
    for (int input : op->inputs) {
      if (graph.is_constant(input) && !values.contains(input))
        values[input] = {graph.shape(input), graph.values(input), graph.dtype(input)};
      arguments.push_back(&values.at(input));
    }
    const SerializedOp serialized(*op);
    const std::vector<Array> outputs = compute_all(*serialized, arguments, before);
    for (size_t i = 0; i < outputs.size(); ++i) values[op->outputs[i]] = outputs[i];
    const Array& output = outputs.front();
    if (const auto* p = op->params.AsAppend()) {
      after[p->state].values = output.values;
      after[p->state].shape.length = output.shape[after[p->state].shape.axis];
    }
  }
  before = std::move(after);
  return values;
}

}  // namespace ferry::reference
