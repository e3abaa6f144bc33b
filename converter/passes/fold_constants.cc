#include <set>

#include "converter/passes/passes.h"
#include "converter/reference/reference.h"

namespace ferry {

void fold_constants(Graph& graph, const PassOptions&) {
  // Outputs and taps of a blob cannot be constants: such values stay computed.
  std::set<TensorId> seen;
  for (const auto* ports : {&graph.table.outputs, &graph.table.taps})
    for (const auto& port : *ports) seen.insert(port->tensor);
  std::erase_if(graph.table.operators, [&](const auto& op) {
    const TensorId output = op->outputs.front();
    if (seen.contains(output) || op->outputs.size() > 1) return false;
    if (names_state(op->params.type)) return false;  // its value differs between runs
    for (TensorId input : op->inputs)                // before any is read: an embedding has gigabytes
      if (!graph.is_constant(input)) return false;
    std::vector<reference::Array> values;
    for (TensorId input : op->inputs) values.push_back({graph.shape(input), graph.values(input), graph.dtype(input)});
    std::vector<const reference::Array*> inputs;
    for (const reference::Array& value : values) inputs.push_back(&value);
    const SerializedOp serialized(*op);
    graph.make_constant(output, reference::compute(*serialized, inputs).values);
    return true;
  });
}

}  // namespace ferry
