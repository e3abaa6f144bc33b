#include <algorithm>
#include <map>
#include <set>

#include "converter/passes/passes.h"
#include "converter/passes/pointwise.h"
#include "converter/reference/reference.h"

namespace ferry {
namespace {

// Constants of more elements are computed when they are read: planning needs their shapes only.
constexpr int64_t kLarge = 1 << 16;
// A value that costs more than so many times the elements of its operator is computed at once: with all before it on
// demand, a chain of operators that read a value twice would compute its first one 2^n times.
constexpr int64_t kMaxWork = 8;

// A function that computes the operator's value.
std::function<std::vector<double>()> value_of(const Graph& graph, const fbs::OperatorT& op) {
  struct Input {
    Shape shape;
    std::function<std::vector<double>()> values;
    fbs::DType dtype;
  };
  std::vector<Input> inputs;
  for (TensorId input : op.inputs)
    inputs.push_back({graph.shape(input), later_values(graph, input), graph.dtype(input)});
  return [inputs = std::move(inputs), op = std::make_shared<const SerializedOp>(op)] {
    std::vector<reference::Array> values;
    for (const Input& input : inputs) values.push_back({input.shape, input.values(), input.dtype});
    std::vector<const reference::Array*> operands;
    for (const reference::Array& array : values) operands.push_back(&array);
    return reference::compute(**op, operands).values;
  };
}

Constant computed_later(const Graph& graph, const fbs::OperatorT& op) {
  Constant value;
  value.size = static_cast<size_t>(graph.shape(op.outputs.front()).elements()) * sizeof(double);
  value.compute = [values = value_of(graph, op)] { return hold(values()); };
  return value;
}

// Of the operators from index `first` on. `seen`: values that stay computed.
void fold(Graph& graph, size_t first, const std::set<TensorId>& seen) {
  std::map<TensorId, int64_t> work;  // elements that a value on demand reads and writes, with those before it
  auto& operators = graph.table.operators;
  const auto begin = operators.begin() + static_cast<std::ptrdiff_t>(first);
  const auto end = std::remove_if(begin, operators.end(), [&](const auto& op) {
    const TensorId output = op->outputs.front();
    if (seen.contains(output) || op->outputs.size() > 1) return false;
    if (names_state(op->params.type)) return false;  // its value differs between runs
    if (bounds_loop(op->params.type)) return false;  // or between steps
    for (TensorId input : op->inputs)                // before any is read: an embedding has gigabytes
      if (!graph.is_constant(input)) return false;
    const auto quantized = [&](TensorId input) { return graph.at(input).quantization != nullptr; };
    const bool plain =
        graph.dtype(output) == fbs::DType::Float32 && std::none_of(op->inputs.begin(), op->inputs.end(), quantized);
    if (plain && op->params.AsReshape()) {
      const TensorId input = op->inputs.front();
      if (const auto known = work.find(input); known != work.end()) work[output] = known->second;
      graph.make_constant(output, graph.at(input).dtype, graph.source(input));
      return true;
    }
    const int64_t written = graph.shape(output).elements();
    int64_t elements = written, all = written;
    for (TensorId input : op->inputs) {
      const auto known = work.find(input);
      const int64_t read = graph.shape(input).elements();
      elements += read;
      all += known != work.end() ? known->second : read;
    }
    if (plain && elements > kLarge && all / kMaxWork <= elements) {
      work[output] = all;
      graph.make_constant(output, fbs::DType::Float64, computed_later(graph, *op));
    } else {
      graph.make_constant(output, value_of(graph, *op)());
    }
    return true;
  });
  operators.erase(end, operators.end());
}

}  // namespace

void fold_constants(Graph& graph, const PassOptions&) {
  // Outputs and taps of a blob cannot be constants.
  std::set<TensorId> seen;
  for (const auto* ports : {&graph.table.outputs, &graph.table.taps})
    for (const auto& port : *ports) seen.insert(port->tensor);
  fold(graph, 0, seen);
}

void fold_added_constants(Graph& graph, size_t first) { fold(graph, first, {}); }

}  // namespace ferry
