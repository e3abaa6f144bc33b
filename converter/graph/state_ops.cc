// Operators that read or change a state.
#include "converter/graph/ops.h"

namespace ferry {

Tensor append(Tensor x, State state) {
  fbs::AppendT params;
  params.state = state.index;
  return x.graph->add_op("", params, {x});
}

Tensor positions(Tensor x, State state, int axis) {
  fbs::PositionsT params;
  params.state = state.index;
  params.axis = axis;
  return x.graph->add_op("", params, {x});
}

Tensor causal_conv1d(Tensor x, const Weights& w, State state, const CausalConv1dOptions& options) {
  fbs::CausalConv1dT params;
  params.state = state.index;
  const Shape stored{channels(x), 1, options.kernel};
  std::vector<Tensor> inputs = {
      x, w.reordered("weight", {.stored = stored, .seen = stored, .perm = {2, 1, 0}, .shape = {stored[2], stored[0]}})};
  if (options.bias) inputs.push_back(w("bias", {channels(x)}));
  return tap(x.graph->add_op(w.name(), params, inputs), w);
}

Tensor gated_delta_rule(Tensor q, Tensor k, Tensor v, Tensor g, Tensor beta, State state) {
  fbs::GatedDeltaRuleT params;
  params.state = state.index;
  return q.graph->add_op("", params, {q, k, v, g, beta});
}

}  // namespace ferry
