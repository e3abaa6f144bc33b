#include "converter/passes/rewriter.h"

#include <algorithm>

namespace ferry {

Rewriter::Rewriter(Graph& graph, const PassOptions& options)
    : graph_(graph), producers_(graph.table.tensors.size()), uses_(graph.table.tensors.size()) {
  for (const auto& op : graph.table.operators) {
    for (TensorId input : op->inputs) uses(input).readers.push_back(op.get());
    for (TensorId output : op->outputs) producers_[output] = op.get();
  }
  for (const auto& port : graph.table.outputs) uses(port->tensor).seen = true;
  for (const auto& port : graph.table.taps)
    if (port->block || options.keep_taps) uses(port->tensor).seen = true;
}

Rewriter::Uses& Rewriter::uses(TensorId tensor) {
  if (uses_.size() <= index_of(tensor)) uses_.resize(graph_.table.tensors.size());
  return uses_[tensor];
}

fbs::OperatorT* Rewriter::only_reader(TensorId tensor) const {
  const Uses& uses = uses_[tensor];
  return uses.seen || uses.readers.size() != 1 ? nullptr : uses.readers.front();
}

std::vector<fbs::OperatorT*> Rewriter::readers(TensorId tensor) const {
  const Uses& uses = uses_[tensor];
  return uses.seen ? std::vector<fbs::OperatorT*>{} : uses.readers;
}

void Rewriter::take_over(fbs::OperatorT* op, fbs::OperatorT* later) {
  for (TensorId input : later->inputs) std::erase(uses(input).readers, later);
  producers_[op->outputs.front()] = nullptr;
  op->outputs = later->outputs;
  producers_[op->outputs.front()] = op;
  if (op->name.empty()) op->name = later->name;
  later->outputs.clear();
}

void Rewriter::set_input(fbs::OperatorT* op, size_t input, Tensor tensor) {
  if (input == op->inputs.size()) {
    op->inputs.push_back(tensor.id);
  } else {
    const TensorId former = op->inputs[input];
    std::vector<fbs::OperatorT*>& readers = uses(former).readers;
    readers.erase(std::find(readers.begin(), readers.end(), op));
    if (readers.empty() && graph_.is_constant(former)) graph_.forget_constant(former);
    op->inputs[input] = tensor.id;
  }
  uses(tensor.id).readers.push_back(op);
}

void Rewriter::replace(fbs::OperatorT* op, fbs::OpParamsUnion params, const std::vector<Tensor>& inputs) {
  for (TensorId input : op->inputs) std::erase(uses(input).readers, op);
  op->params = std::move(params);
  op->inputs.clear();
  for (size_t i = 0; i < inputs.size(); ++i) set_input(op, i, inputs[i]);
}

void Rewriter::remove(fbs::OperatorT* op) {
  for (TensorId input : op->inputs) std::erase(uses(input).readers, op);
  producers_[op->outputs.front()] = nullptr;
  op->outputs.clear();
}

void Rewriter::finish() {
  std::erase_if(graph_.table.operators, [](const auto& op) { return op->outputs.empty(); });
}

bool by_constants(const Graph& graph, const fbs::OperatorT& op) {
  return std::all_of(op.inputs.begin() + 1, op.inputs.end(), [&](TensorId input) { return graph.is_constant(input); });
}

Tensor rows_of(Graph& graph, TensorId constant, int begin, int count) {
  Shape shape = graph.shape(constant);
  const Constant whole = graph.source(constant);
  const size_t row = whole.byte_count() / static_cast<size_t>(shape[0]);
  const size_t offset = static_cast<size_t>(begin) * row, bytes = static_cast<size_t>(count) * row;
  Constant rows = whole;
  if (whole.compute) {
    rows.owner = std::make_shared<const char>();  // not the whole's, which says that the bytes are the same
    rows.size = bytes;
    rows.compute = [whole, offset, bytes] { return whole.read_part(offset, bytes); };
  } else {
    rows.bytes = rows.bytes.subspan(offset, bytes);
  }
  if (whole.compute_part)
    rows.compute_part = [part = whole.compute_part, offset](size_t first, size_t size) {
      return part(offset + first, size);
    };
  shape[0] = count;
  return graph.add_constant(graph.at(constant).name, graph.at(constant).dtype, shape, std::move(rows));
}

Clamp clamp_of(fbs::OperatorT& op) {
  if (auto* conv = op.params.AsConv2d()) return {&conv->output_min, &conv->output_max};
  if (auto* conv = op.params.AsConvTranspose2d()) return {&conv->output_min, &conv->output_max};
  if (auto* linear = op.params.AsLinear()) return {&linear->output_min, &linear->output_max};
  if (auto* binary = op.params.AsBinary()) {
    // Runtimes fuse the clamp into these four operations; others need a second pass over memory.
    switch (binary->kind) {
      case fbs::BinaryKind::Add:
      case fbs::BinaryKind::Sub:
      case fbs::BinaryKind::Mul:
      case fbs::BinaryKind::Div: return {&binary->output_min, &binary->output_max};
      default: break;
    }
  }
  return {};
}

}  // namespace ferry
