#include "cli/bisect/graphs.h"

#include <algorithm>
#include <vector>

#include "sdk/model/model.h"

namespace ferry::bisect {

fbs::GraphT alone(const fbs::Graph& root, size_t index) {
  fbs::GraphT whole;
  root.UnPackTo(&whole);
  if (index == 0) {
    whole.graphs.clear();
    whole.postprocess = nullptr;
    return whole;
  }
  fbs::GraphT out = std::move(*whole.graphs[index - 1]);
  out.postprocess = nullptr;
  out.buffers = std::move(whole.buffers);
  out.states = std::move(whole.states);
  out.provenance = std::move(whole.provenance);
  out.packed = std::move(whole.packed);
  out.content = std::move(whole.content);
  return out;
}

parity::ComputedTensors with_reference(const fbs::Graph& graph, const parity::Fixture& fixture,
                                       parity::ComputedTensors computed) {
  const auto refer = [&](const fbs::Port& output, const fbs::Port& name) {
    if (name.tensor() != output.tensor() || name.source_layout() != output.source_layout()) return;
    for (const parity::Entry& entry : fixture.entries) {
      parity::Computed& value = computed.at(text(output.name()));
      if ((entry.name == text(name.name()) || entry.module == text(name.name())) && entry.positions.empty() &&
          entry.shape == value.shape)
        value.read = [values = entry.values] { return values; };
    }
  };
  for (const fbs::Port* output : *graph.outputs())
    for (const auto* list : {graph.outputs(), graph.taps()})
      for (unsigned i = 0; list != nullptr && i < list->size(); ++i) refer(*output, *list->Get(i));
  return computed;
}

std::pair<std::set<std::string>, std::set<std::string>> constants_read(const Graph& graph) {
  std::pair<std::set<std::string>, std::set<std::string>> out;
  std::set<TensorId> wanted;
  for (const auto* ports : {&graph.table.outputs, &graph.table.taps})
    for (const auto& port : *ports) wanted.insert(port->tensor);
  for (auto op = graph.table.operators.rbegin(); op != graph.table.operators.rend(); ++op) {
    const std::vector<TensorId>& inputs = (*op)->inputs;
    const auto is_wanted = [&](TensorId tensor) { return wanted.contains(tensor); };
    if (std::none_of((*op)->outputs.begin(), (*op)->outputs.end(), is_wanted)) continue;
    wanted.insert(inputs.begin(), inputs.end());
    for (const TensorId input : inputs)
      if (graph.is_constant(input)) out.first.insert(graph.at(input).name);
    if ((*op)->params.type == fbs::OpParams::Gather && graph.is_constant(inputs.front()))
      out.second.insert(graph.at(inputs.front()).name);
  }
  return out;
}

}  // namespace ferry::bisect
