#include "converter/passes/passes.h"
#include "sdk/model/per_tensor.h"

#include <algorithm>

namespace ferry {

void remove_dead_code(Graph& graph, const PassOptions& options) {
  auto& model = graph.table;
  PerTensor<bool> live(model.tensors.size(), false), computed(model.tensors.size(), false);
  for (const auto& port : model.inputs) live[port->tensor] = computed[port->tensor] = true;
  for (const auto& port : model.outputs) live[port->tensor] = true;
  for (const auto& port : model.taps)
    if (port->block || options.keep_taps) live[port->tensor] = true;
  // A changed state serves later runs.
  const auto needed = [&](const fbs::OperatorT& op) {
    return changes_state(op.params.type) ||
           std::any_of(op.outputs.begin(), op.outputs.end(), [&](TensorId output) { return live[output]; });
  };
  for (auto op = model.operators.rbegin(); op != model.operators.rend(); ++op) {
    if (!needed(**op)) continue;
    for (TensorId input : (*op)->inputs) live[input] = true;
    for (size_t i = 0; i < (*op)->outputs.size(); ++i) {
      const TensorId output = (*op)->outputs[i];
      // Trailing outputs may be omitted.
      if (i > 0 && !live[output])
        (*op)->outputs.resize(i);
      else
        live[output] = computed[output] = true;
    }
  }
  for (const TensorId t : live.ids())
    if (const Type type = graph.type(t); live[t] && type.quantized && type.float_scale == 0) live[type.scale] = true;
  std::erase_if(model.operators, [&](const auto& op) { return !live[op->outputs.front()]; });
  std::erase_if(model.taps, [&](const auto& tap) { return !computed[tap->tensor]; });
  graph.compact(live);
}

}  // namespace ferry
