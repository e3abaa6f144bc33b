#include "converter/reference/interpreter.h"

namespace ferry::reference {

Array constant(const Graph& graph, int tensor, Rows rows) {
  const bool quantized = graph.type(tensor).quantized;
  const fbs::DType dtype = quantized ? fbs::DType::Float32 : graph.dtype(tensor);
  return {graph.shape(tensor), graph.values(tensor), dtype, quantized, quantized && rows == Rows::Rounded};
}

std::map<int, Array> interpret(const Graph& graph, const std::vector<Array>& inputs, Rows rows) {
  const auto& model = graph.table;
  if (inputs.size() != model.inputs.size())
    fail("%zu inputs for a graph that has %zu", inputs.size(), model.inputs.size());
  std::map<int, Array> values;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const int tensor = static_cast<int>(model.inputs[i]->tensor);
    if (inputs[i].shape != graph.shape(tensor))
      fail("input '%s' has shape %s, expected %s", model.inputs[i]->name.c_str(), to_string(inputs[i].shape).c_str(),
           to_string(graph.shape(tensor)).c_str());
    values[tensor] = inputs[i];
  }
  for (const auto& op : model.operators) {
    std::vector<const Array*> arguments;
    for (int input : op->inputs) {
      if (graph.is_constant(input) && !values.contains(input)) values[input] = constant(graph, input, rows);
      arguments.push_back(&values.at(input));
    }
    const SerializedOp serialized(*op);
    values[op->outputs.front()] = compute(*serialized, arguments);
  }
  return values;
}

}  // namespace ferry::reference
