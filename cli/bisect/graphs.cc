#include "cli/bisect/graphs.h"

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

}  // namespace ferry::bisect
