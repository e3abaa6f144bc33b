#include "converter/passes/passes.h"

namespace ferry {

void remove_dead_code(Graph& graph, const PassOptions& options) {
  auto& model = graph.table;
  std::vector<bool> live(model.tensors.size(), false), computed(model.tensors.size(), false);
  for (const auto& port : model.inputs) live[port->tensor] = computed[port->tensor] = true;
  for (const auto& port : model.outputs) live[port->tensor] = true;
  for (const auto& port : model.taps)
    if (port->block || options.keep_taps) live[port->tensor] = true;
  for (auto op = model.operators.rbegin(); op != model.operators.rend(); ++op) {
    if (!live[static_cast<size_t>((*op)->outputs.front())]) continue;
    for (int input : (*op)->inputs) live[static_cast<size_t>(input)] = true;
  }
  std::erase_if(model.operators, [&](const auto& op) {
    const size_t output = static_cast<size_t>(op->outputs.front());
    computed[output] = live[output];
    return !live[output];
  });
  std::erase_if(model.taps, [&](const auto& tap) { return !computed[tap->tensor]; });
  graph.compact(live);
}

}  // namespace ferry
