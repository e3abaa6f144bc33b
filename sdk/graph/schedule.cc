#include "sdk/graph/schedule.h"

#include "sdk/model/per_tensor.h"
#include "sdk/operators/operators.h"

namespace ferry {
namespace {

// Flags of a tensor.
constexpr uint8_t kRead = 1;      // read by the caller, or by a needed operator
constexpr uint8_t kStatic = 2;    // a static input, or computed from static inputs and constants only
constexpr uint8_t kComputed = 4;  // computed from static inputs, and not yet in Schedule.cached

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
    if (!port->static_input()) continue;
    out.has_static_inputs = true;
    tensors[port->tensor()] |= kStatic;
  }
  if (!out.has_static_inputs) return out;
  const auto keep = [&](TensorId t) {
    if ((tensors[t] & kComputed) != 0) out.cached.push_back(t);
    tensors[t] &= static_cast<uint8_t>(~kComputed);
  };
  for (unsigned i = 0; i < count; ++i) {
    bool static_only = !names_state(op(i).params_type()) && !bounds_loop(op(i).params_type());
    for (const TensorId t : *op(i).inputs()) static_only &= (tensors[t] & kStatic) != 0 || model.is_constant(t);
    if (!static_only) {
      for (const TensorId t : *op(i).inputs()) keep(t);
      continue;
    }
    out.operators[i] |= Schedule::kStaticOnly;
    for (const TensorId t : *op(i).outputs()) tensors[t] |= kStatic | kComputed;
  }
  for (const TensorId t : kept) keep(t);
  return out;
}

}  // namespace ferry
