#include "sdk/graph/schedule.h"

#include <algorithm>

#include "sdk/model/per_tensor.h"
#include "sdk/operators/operators.h"

namespace ferry {

Schedule make_schedule(const Model& model, std::span<const TensorId> kept) {
  const fbs::Graph& graph = model.graph();
  const size_t tensors = graph.tensors()->size();
  const unsigned count = graph.operators()->size();
  Schedule out;
  out.needed.resize(count);
  out.settled.resize(count);

  PerTensor<bool> read(tensors, false);
  for (const TensorId t : kept) read[t] = true;
  for (unsigned i = count; i-- > 0;) {
    const fbs::Operator& op = *graph.operators()->Get(i);
    const auto is_read = [&](TensorId t) -> bool { return read[t]; };
    out.needed[i] = names_state(op.params_type()) || std::any_of(op.outputs()->begin(), op.outputs()->end(), is_read);
    if (!out.needed[i]) continue;
    for (const TensorId t : *op.inputs()) read[t] = true;
  }

  PerTensor<bool> lasts(tensors, false), computed(tensors, false);
  for (const fbs::Port* port : *graph.inputs()) {
    lasts[port->tensor()] = port->lasting();
    out.lasting |= port->lasting();
  }
  if (!out.lasting) return out;
  for (unsigned i = 0; i < count; ++i) {
    const fbs::Operator& op = *graph.operators()->Get(i);
    const auto known = [&](TensorId t) { return lasts[t] || model.is_constant(t); };
    out.settled[i] = !names_state(op.params_type()) && std::all_of(op.inputs()->begin(), op.inputs()->end(), known);
    for (const TensorId t : *op.outputs()) lasts[t] = computed[t] = out.settled[i];
  }
  const auto keep = [&](TensorId t) {
    if (computed[t]) out.values.push_back(t);
    computed[t] = false;
  };
  for (unsigned i = 0; i < count; ++i) {
    const auto& inputs = *graph.operators()->Get(i)->inputs();
    if (!out.settled[i]) std::for_each(inputs.begin(), inputs.end(), keep);
  }
  std::for_each(kept.begin(), kept.end(), keep);
  return out;
}

}  // namespace ferry
