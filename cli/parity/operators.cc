#include "cli/parity/operators.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <vector>

#include "cli/parity/network.h"
#include "cli/parity/prompts.h"
#include "converter/error.h"
#include "converter/pack/pack.h"
#include "converter/quantize/keys_and_values.h"
#include "converter/reference/interpreter.h"
#include "converter/reference/reference.h"
#include "sdk/model/elements.h"
#include "sdk/model/model.h"

namespace ferry::parity {
namespace {

using reference::Array;

std::string probe_name(TensorId tensor) { return "probe " + std::to_string(index_of(tensor)); }

// The same network with every value as a tap.
std::vector<std::byte> tapped(const Model& model, Fixture* fixture) {
  const fbs::Graph& graph = model.graph();
  fbs::GraphT copy;
  graph.UnPackTo(&copy);
  // A blob of this graph alone, without task and text.
  copy.graphs.clear();
  copy.postprocess = nullptr;
  copy.text.clear();
  copy.packed.clear();
  copy.certificate = nullptr;
  copy.taps.clear();
  show_keys_and_values(&copy);
  copy.buffers.clear();
  copy.buffers.push_back(std::make_unique<fbs::BufferT>());
  std::vector<std::byte> data;
  for (const TensorId t : model.tensors())
    if (model.is_constant(t)) copy.tensors[index_of(t)]->buffer = add_segment(model.constant(t), &copy, &data);
  fixture->entries.clear();
  const auto tap = [&](TensorId tensor) {
    auto port = std::make_unique<fbs::PortT>();
    port->name = probe_name(tensor);
    port->tensor = tensor;
    copy.taps.push_back(std::move(port));
    fixture->entries.emplace_back();
    fixture->entries.back().name = fixture->entries.back().module = probe_name(tensor);
  };
  for (const auto& input : copy.inputs) tap(input->tensor);
  size_t loops = 0;  // that are open: what they compute cannot be tapped
  for (const auto& op : copy.operators) {
    if (op->params.AsLoopBegin()) ++loops;
    if (op->params.AsLoopEnd()) --loops;
    if (loops > 0) continue;
    for (TensorId output : op->outputs) tap(output);
  }
  return assemble(copy, data);
}

// `on_gpu`: for an operator that ran on the GPU, where embedding rows are not rounded.
Array constant(const Model& model, TensorId tensor, bool on_gpu) {
  const StoredConstant stored = model.stored(tensor);
  Array array{stored.shape, std::vector<double>(static_cast<size_t>(stored.shape.elements()))};
  read_elements(stored, array.values.data());
  if (stored.type.dtype == fbs::DType::Int32) array.dtype = fbs::DType::Int32;
  array.quantized = stored.type.quantized;
  array.rounds_rows = array.quantized && !on_gpu;
  return array;
}

Array value(const Model& model, TensorId tensor, const ComputedTensors& computed) {
  const Computed& of = computed.at(probe_name(tensor));
  Array array;
  for (int64_t d : of.shape) array.shape[array.shape.rank++] = static_cast<int32_t>(d);
  const std::vector<float> read = of.read();
  array.values.assign(read.begin(), read.end());
  array.dtype = model.tensor(tensor).dtype();
  return array;
}

double squared_error(const Array& ours, const Array& right) {
  double error = 0, square = 0;
  for (size_t i = 0; i < right.values.size(); ++i) {
    const double difference = ours.values[i] - right.values[i];
    error += difference * difference;
    square += right.values[i] * right.values[i];
  }
  if (error == 0) return 0;
  return std::isfinite(error) ? error / square : std::numeric_limits<double>::infinity();
}

// The error of each operator of the graph for the inputs that it had; of a loop, at its end, for the inputs of the
// loop.
std::vector<double> operator_errors(const Model& model, const Fixture& fixture, const ferry_session_options& session) {
  Fixture probing = fixture;
  const Network network(tapped(model, &probing), probing, session);
  const ComputedTensors computed = network.tensors();
  Graph graph;
  model.graph().UnPackTo(&graph.table);
  show_keys_and_values(&graph.table);
  const std::vector<reference::State> states = reference::empty_states(graph);
  const auto& operators = graph.table.operators;
  std::vector<double> errors(operators.size());
  std::map<TensorId, Array> in_loops;  // values of the loops that are open, by the reference
  size_t loops = 0;
  for (size_t place = 0; place < operators.size(); ++place) {
    const fbs::OperatorT& op = *operators[place];
    std::vector<Array> inputs;
    for (const TensorId input : op.inputs) {
      const auto inside = in_loops.find(input);
      inputs.push_back(model.is_constant(input)   ? constant(model, input, network.on_gpu(place))
                       : inside != in_loops.end() ? inside->second
                                                  : value(model, input, computed));
    }
    std::vector<const Array*> pointers;
    for (const Array& input : inputs) pointers.push_back(&input);
    std::vector<Array> right = reference::compute_all(*SerializedOp(op), pointers, states);
    if (op.params.AsLoopBegin()) ++loops;
    if (op.params.AsLoopEnd()) {
      const auto op_at = [&](size_t i) -> const fbs::OperatorT& { return *operators[i]; };
      if (const size_t after = reference::end_step(place, op_at, pointers, right, &in_loops); after != place) {
        place = after;
        continue;
      }
      for (size_t i = 0; i < right.size(); ++i) right[i] = in_loops.at(op.outputs[i]);
      if (--loops == 0) in_loops.clear();
    }
    for (size_t i = 0; i < right.size(); ++i) {
      if (loops > 0)
        in_loops[op.outputs[i]] = std::move(right[i]);
      else
        errors[place] = std::max(errors[place], squared_error(value(model, op.outputs[i], computed), right[i]));
    }
  }
  return errors;
}

}  // namespace

void judge_by_operator(const std::filesystem::path& blob, const Fixture& fixture, const ComputedTensors& computed,
                       const ferry_session_options& session, Comparison* comparison) {
  std::vector<double> errors;  // of each operator, through all graphs
  for (const GraphFixture& graph : by_graph(open_blob(blob), fixture, computed)) {
    const std::vector<double> more = operator_errors(*graph.model, graph.fixture, session);
    errors.insert(errors.end(), more.begin(), more.end());
  }
  size_t from = 0;
  for (Row& row : comparison->rows) {
    if (!row.problem.empty()) continue;
    const size_t to = static_cast<size_t>(std::max(row.depth, -1) + 1);
    if (to <= from) {  // an alias of the previous row, or an input of the network
      row.squared_error = 0;
    } else {
      row.squared_error = *std::max_element(errors.begin() + static_cast<std::ptrdiff_t>(from),
                                            errors.begin() + static_cast<std::ptrdiff_t>(to));
      from = to;
    }
    row.bound = kOperatorBound;
    row.in_bounds = row.squared_error <= row.bound;
  }
}

}  // namespace ferry::parity
