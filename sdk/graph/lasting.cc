#include "sdk/graph/lasting.h"

#include <algorithm>

#include "sdk/model/per_tensor.h"
#include "sdk/operators/operators.h"

namespace ferry {

LastingParts find_lasting(const Model& model, std::span<const TensorId> kept) {
  const fbs::Graph& graph = model.graph();
  PerTensor<bool> lasts(graph.tensors()->size(), false), computed(graph.tensors()->size(), false);
  bool any = false;
  for (const fbs::Port* port : *graph.inputs()) {
    lasts[port->tensor()] = port->lasting();
    any |= port->lasting();
  }
  LastingParts parts;
  if (!any) return parts;
  for (const fbs::Operator* op : *graph.operators()) {
    const bool settled =
        !names_state(op->params_type()) && std::all_of(op->inputs()->begin(), op->inputs()->end(),
                                                       [&](TensorId t) { return lasts[t] || model.is_constant(t); });
    parts.operators.push_back(settled);
    for (const TensorId t : *op->outputs()) lasts[t] = computed[t] = settled;
  }
  const auto keep = [&](TensorId t) {
    if (computed[t]) parts.values.push_back(t);
    computed[t] = false;
  };
  for (unsigned i = 0; i < parts.operators.size(); ++i) {
    const auto& inputs = *graph.operators()->Get(i)->inputs();
    if (!parts.operators[i]) std::for_each(inputs.begin(), inputs.end(), keep);
  }
  std::for_each(kept.begin(), kept.end(), keep);
  return parts;
}

}  // namespace ferry
