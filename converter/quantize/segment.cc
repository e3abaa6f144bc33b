#include "converter/quantize/segment.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "sdk/operators/operators.h"

namespace ferry::int8 {
namespace {

// Keeps the states that operators name.
void keep_named_states(fbs::GraphT& table) {
  std::vector<std::unique_ptr<fbs::StateT>> kept;
  std::map<uint32_t, uint32_t> renumbered;
  const auto keep = [&](uint32_t& state) {
    const auto [found, added] = renumbered.emplace(state, static_cast<uint32_t>(kept.size()));
    if (added) kept.push_back(std::move(table.states[state]));
    state = found->second;
  };
  for (auto& op : table.operators) {
#define FERRY_KEEP(Type, ...) \
  if (auto* p = op->params.As##Type()) keep(p->state);
    FERRY_OPERATORS_WITH_STATE(FERRY_KEEP)
#undef FERRY_KEEP
  }
  table.states = std::move(kept);
}

// The activations that the operators from `end` on, or the caller, read.
std::set<TensorId> read_after(const fbs::GraphT& table, size_t end) {
  std::set<TensorId> out;
  for (size_t i = end; i < table.operators.size(); ++i)
    out.insert(table.operators[i]->inputs.begin(), table.operators[i]->inputs.end());
  for (const auto& port : table.outputs) out.insert(port->tensor);
  return out;
}

}  // namespace

Segment segment_of(Graph& whole, size_t begin, size_t end) {
  const auto& operators = whole.table.operators;
  const std::set<TensorId> later = read_after(whole.table, end);
  std::set<TensorId> own;
  for (size_t i = begin; i < end; ++i) own.insert(operators[i]->outputs.begin(), operators[i]->outputs.end());

  Segment out;
  out.graph = whole.copy();
  fbs::GraphT& table = out.graph->table;
  table.operators.erase(table.operators.begin() + static_cast<std::ptrdiff_t>(end), table.operators.end());
  table.operators.erase(table.operators.begin(), table.operators.begin() + static_cast<std::ptrdiff_t>(begin));
  for (auto* ports : {&table.inputs, &table.outputs, &table.taps}) ports->clear();
  table.graphs.clear();
  table.text.clear();
  table.postprocess.reset();
  keep_named_states(table);

  PerTensor<bool> keep(table.tensors.size());
  for (const auto& op : table.operators) {
    for (const TensorId input : op->inputs) {
      keep[input] = true;
      if (whole.is_constant(input) || own.count(input) > 0 ||
          std::find(out.inputs.begin(), out.inputs.end(), input) != out.inputs.end())
        continue;
      out.inputs.push_back(input);
    }
    for (const TensorId output : op->outputs) {
      keep[output] = true;
      if (later.count(output) > 0) out.outputs.push_back(output);
    }
  }
  const auto add_ports = [&](const std::vector<TensorId>& tensors, std::vector<std::unique_ptr<fbs::PortT>>* ports) {
    for (const TensorId tensor : tensors) {
      auto& port = ports->emplace_back(std::make_unique<fbs::PortT>());
      port->name = std::to_string(index_of(tensor));
      port->tensor = tensor;
      port->source_dtype = whole.dtype(tensor);
    }
  };
  add_ports(out.inputs, &table.inputs);
  add_ports(out.outputs, &table.outputs);
  for (const TensorId t : keep.ids())
    if (const Type type = out.graph->type(t); keep[t] && type.quantized && type.float_scale == 0)
      keep[type.scale] = true;
  out.graph->compact(keep);
  return out;
}

Stream::Stream(Graph& graph, std::span<const std::vector<int32_t>> sequences, int threads)
    : graph_(graph), threads_(threads) {
  for (const std::vector<int32_t>& ids : sequences) {
    Sample::Input& input = computed_.emplace_back()[graph.table.inputs.front()->tensor];
    input.shape = Shape{1, static_cast<int32_t>(ids.size())};
    const auto bytes = std::as_bytes(std::span(ids));
    input.bytes.assign(bytes.begin(), bytes.end());
  }
}

Sample Stream::inputs_of(const Segment& segment, const Values& values) {
  Sample sample;
  for (const TensorId input : segment.inputs) sample.inputs.push_back(values.at(input));
  return sample;
}

void Stream::advance(size_t end) {
  if (end == at_) return;
  const Segment segment = segment_of(graph_, at_, end);
  const std::set<TensorId> later = read_after(graph_.table, end);
  Network network(*segment.graph, {}, threads_);
  for (Values& values : computed_) {
    network.run(inputs_of(segment, values));
    std::erase_if(values, [&](const auto& value) { return later.count(value.first) == 0; });
    for (size_t i = 0; i < segment.outputs.size(); ++i) {
      const TensorId own = segment.graph->table.outputs[i]->tensor;
      const auto bytes = std::as_bytes(network.values(own));
      values[segment.outputs[i]] = {network.shape(own), {bytes.begin(), bytes.end()}};
    }
  }
  at_ = end;
}

std::span<const float> Stream::values(size_t sequence, TensorId activation) const {
  const std::vector<std::byte>& bytes = computed_[sequence].at(activation).bytes;
  return {reinterpret_cast<const float*>(bytes.data()), bytes.size() / sizeof(float)};
}

Stream::Rest::Rest(Stream& stream)
    : stream_(stream),
      segment_(segment_of(stream.graph_, stream.at_, stream.graph_.table.operators.size())),
      network_(*segment_.graph, {}, stream.threads_) {}

std::span<const float> Stream::Rest::run(size_t sequence) {
  network_.run(inputs_of(segment_, stream_.computed_[sequence]));
  return network_.values(segment_.graph->table.outputs.front()->tensor);
}

}  // namespace ferry::int8
