#include "sdk/graph/schedule.h"

#include "sdk/model/per_tensor.h"
#include "sdk/operators/operators.h"

namespace ferry {
namespace {

// Of each tensor.
constexpr uint8_t kRead = 1;      // by the caller, or by an operator that is needed
constexpr uint8_t kLasts = 2;     // it is a static input, or depends on such alone
constexpr uint8_t kComputed = 4;  // the latter, and not yet among the values

}  // namespace

Schedule make_schedule(const Model& model, std::span<const TensorId> kept) {
  const fbs::Graph& graph = model.graph();
  const unsigned count = graph.operators()->size();
  const auto op = [&](unsigned i) -> const fbs::Operator& { return *graph.operators()->Get(i); };
  Schedule out;
  out.operators.resize(count);
  PerTensor<uint8_t> tensors(graph.tensors()->size());

  for (const TensorId t : kept) tensors[t] = kRead;
  for (unsigned i = count; i-- > 0;) {
    bool needed = names_state(op(i).params_type());
    for (const TensorId t : *op(i).outputs()) needed |= (tensors[t] & kRead) != 0;
    if (!needed) continue;
    out.operators[i] = Schedule::kNeeded;
    for (const TensorId t : *op(i).inputs()) tensors[t] = kRead;
  }

  for (const fbs::Port* port : *graph.inputs()) {
    if (!port->lasting()) continue;
    out.lasting = true;
    tensors[port->tensor()] |= kLasts;
  }
  if (!out.lasting) return out;
  const auto keep = [&](TensorId t) {
    if ((tensors[t] & kComputed) != 0) out.values.push_back(t);
    tensors[t] &= static_cast<uint8_t>(~kComputed);
  };
  for (unsigned i = 0; i < count; ++i) {
    bool settled = !names_state(op(i).params_type());
    for (const TensorId t : *op(i).inputs()) settled &= (tensors[t] & kLasts) != 0 || model.is_constant(t);
    if (!settled) {
      for (const TensorId t : *op(i).inputs()) keep(t);
      continue;
    }
    out.operators[i] |= Schedule::kSettled;
    for (const TensorId t : *op(i).outputs()) tensors[t] |= kLasts | kComputed;
  }
  for (const TensorId t : kept) keep(t);
  return out;
}

}  // namespace ferry
