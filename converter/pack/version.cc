#include "converter/pack/version.h"

#include <algorithm>

namespace ferry {
namespace {

bool needs_version_2(const fbs::OperatorT& op) {
  const auto* attention = op.params.AsAttention();
  return op.outputs.size() > 1 || (attention && (attention->causal || attention->window != 0 || attention->sinks));
}

bool needs_version_2(const fbs::GraphT& graph) {
  return !graph.graphs.empty() || !graph.states.empty() ||
         std::any_of(graph.tensors.begin(), graph.tensors.end(),
                     [](const auto& t) { return t->quantization != nullptr; }) ||
         std::any_of(graph.inputs.begin(), graph.inputs.end(), [](const auto& port) { return !port->bound.empty(); }) ||
         std::any_of(graph.operators.begin(), graph.operators.end(),
                     [](const auto& op) { return needs_version_2(*op); });
}

}  // namespace

uint32_t format_version(const fbs::GraphT& graph) { return needs_version_2(graph) ? 2 : 1; }

}  // namespace ferry
