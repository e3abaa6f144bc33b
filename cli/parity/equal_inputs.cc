#include "cli/parity/equal_inputs.h"

#include <algorithm>
#include <set>

#include "cli/parity/network.h"
#include "converter/error.h"
#include "converter/pack/pack.h"
#include "converter/quantize/compute_on_integers.h"
#include "sdk/model/mapping.h"
#include "sdk/model/model.h"

namespace ferry::parity {
namespace {

// The Int8 value of which `value` is the real numbers; None if it is no such value.
TensorId integers_of(const fbs::GraphT& graph, TensorId value) {
  for (const auto& op : graph.operators) {
    if (op->outputs.front() != value) continue;
    const auto* requantize = op->params.AsRequantize();
    return requantize != nullptr && requantize->to == fbs::DType::Float32 ? op->inputs.front() : TensorId::None;
  }
  return TensorId::None;
}

// The port of this name among the taps and outputs; null without one.
const fbs::PortT* port_of(const fbs::GraphT& graph, const std::string& name, const std::string& module) {
  for (const auto* ports : {&graph.taps, &graph.outputs})
    for (const auto& port : *ports)
      if (port->name == name || port->name == module) return port.get();
  return nullptr;
}

Dims source_shape(const fbs::TensorT& tensor, fbs::Layout layout) {
  const std::vector<int32_t>& s = tensor.shape;
  if (layout == fbs::Layout::NCHW && s.size() == 4) return {s[0], s[3], s[1], s[2]};
  return {s.begin(), s.end()};
}

TensorId add_copy(fbs::GraphT* graph, TensorId of) {
  graph->tensors.push_back(std::make_unique<fbs::TensorT>(*graph->tensors[index_of(of)]));
  return tensor_at(graph->tensors.size() - 1);
}

// All operators but the one that computes `but` read `other` instead of `tensor`.
void replace(fbs::GraphT* graph, TensorId tensor, TensorId other, TensorId but = TensorId::None) {
  for (const auto& op : graph->operators)
    if (op->outputs.front() != but) std::replace(op->inputs.begin(), op->inputs.end(), tensor, other);
}

std::unique_ptr<fbs::OperatorT> to_integers(TensorId from, TensorId to) {
  auto op = std::make_unique<fbs::OperatorT>();
  fbs::RequantizeT requantize;
  requantize.to = fbs::DType::Int8;
  op->params.Set(requantize);
  op->inputs = {from};
  op->outputs = {to};
  return op;
}

fbs::GraphT table_of(const Mapping& blob, const std::filesystem::path& path, std::span<const std::byte>* data) {
  const fbs::Graph* graph = nullptr;
  if (const Status status = verify(blob.bytes(), &graph, data); !status.ok())
    fail("%s: %s", path.c_str(), status.message().data());
  fbs::GraphT table;
  graph->UnPackTo(&table);
  return table;
}

std::unique_ptr<Mapping> map(const std::filesystem::path& path) {
  std::unique_ptr<Mapping> blob;
  if (const Status status = Mapping::map_path(path.c_str(), &blob); !status.ok())
    fail("%s: %s", path.c_str(), status.message().data());
  return blob;
}

}  // namespace

bool computes_on_integers(const fbs::GraphT& graph) {
  return graph.graphs.empty() && int8::has_int8_activations(graph);
}

bool computes_on_integers(const std::filesystem::path& blob) {
  const std::unique_ptr<Mapping> mapped = map(blob);
  std::span<const std::byte> data;
  return computes_on_integers(table_of(*mapped, blob, &data));
}

std::vector<Restart> restart_from_reference(fbs::GraphT* graph, Fixture* fixture) {
  std::vector<Restart> out;
  std::set<TensorId> done;
  for (const auto& input : graph->inputs) done.insert(input->tensor);
  if (fixture->inputs.size() == 1 && graph->inputs.size() == 1)  // then any name was right
    fixture->inputs[0].name = graph->inputs[0]->name;
  for (const Entry& entry : fixture->entries) {
    const fbs::PortT* port = port_of(*graph, entry.name, entry.module);
    if (port == nullptr || !entry.positions.empty() || !port->counts.empty() || !done.insert(port->tensor).second ||
        entry.shape != source_shape(*graph->tensors[index_of(port->tensor)], port->source_layout))
      continue;
    Restart restart{port->tensor, add_copy(graph, port->tensor)};
    auto input = std::make_unique<fbs::PortT>();
    input->name = "reference " + std::to_string(out.size());
    input->tensor = restart.given;
    input->source_layout = port->source_layout;
    fixture->inputs.push_back({input->name, entry.shape, entry.values});
    const TensorId integers = integers_of(*graph, restart.value);
    replace(graph, restart.value, restart.given);
    if (integers != TensorId::None && done.insert(integers).second) {
      restart.integers = integers;
      restart.given_integers = add_copy(graph, integers);
      replace(graph, integers, restart.given_integers, restart.value);
      graph->operators.insert(graph->operators.begin(), to_integers(restart.given, restart.given_integers));
    }
    graph->inputs.push_back(std::move(input));
    out.push_back(restart);
  }
  graph->packed.clear();
  graph->postprocess = nullptr;
  graph->certificate = nullptr;
  return out;
}

void bound_by_steps(const fbs::GraphT& graph, Comparison* comparison) {
  for (Row& row : comparison->rows) {
    const fbs::PortT* port = port_of(graph, row.name, row.module);
    const TensorId integers = port == nullptr ? TensorId::None : integers_of(graph, port->tensor);
    if (integers == TensorId::None || !row.problem.empty()) continue;
    row.measure = Measure::Absolute;
    row.bound = kOneStep * static_cast<double>(type_of(*graph.tensors[index_of(integers)]).float_scale);
    row.in_bounds = row.compared > 0 && row.max_abs_error <= row.bound;
  }
}

Comparison compare_on_equal_inputs(const std::filesystem::path& blob, const Fixture& fixture,
                                   const ferry_session_options& session) {
  const std::unique_ptr<Mapping> mapped = map(blob);
  std::span<const std::byte> data;
  fbs::GraphT table = table_of(*mapped, blob, &data);
  Fixture equal = fixture;
  restart_from_reference(&table, &equal);
  const std::vector<std::byte> bytes = assemble(table, data);
  const Network network(bytes, equal, session);
  Comparison comparison = compare(equal, network.tensors());
  bound_by_steps(table, &comparison);
  return comparison;
}

}  // namespace ferry::parity
