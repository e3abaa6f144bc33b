#include "converter/onnx/patterns/graph_matcher.h"

#include <algorithm>

namespace ferry::onnx {

GraphMatcher::GraphMatcher(Graph& graph) : graph_(graph), known_(graph.table.operators.size()) {
  for (const auto& op : graph.table.operators) producers_[op->outputs.front()] = op.get();
}

fbs::OperatorT* GraphMatcher::producer(TensorId tensor, fbs::OpParams kind) const {
  const auto found = producers_.find(tensor);
  return found != producers_.end() && found->second->params.type == kind ? found->second : nullptr;
}

TensorId GraphMatcher::before_reshapes(TensorId tensor) const {
  while (const fbs::OperatorT* op = producer(tensor, fbs::OpParams::Reshape)) tensor = op->inputs.front();
  return tensor;
}

std::optional<TensorId> GraphMatcher::reshaped_from(TensorId tensor, const Shape& wanted) const {
  while (shape(tensor) != wanted) {
    const fbs::OperatorT* op = producer(tensor, fbs::OpParams::Reshape);
    if (!op) return {};
    tensor = op->inputs.front();
  }
  return tensor;
}

size_t GraphMatcher::rewrite_as(size_t i, fbs::OpParamsUnion params, const std::vector<Tensor>& inputs) {
  auto& ops = graph_.table.operators;
  fbs::OperatorT& op = *ops[i];
  op.params = std::move(params);
  op.inputs.clear();
  for (const Tensor& input : inputs) op.inputs.push_back(input.id);
  const size_t added = ops.size() - known_;
  for (size_t k = known_; k < ops.size(); ++k) {
    if (ops[k]->name.empty()) ops[k]->name = op.name;
    producers_[ops[k]->outputs.front()] = ops[k].get();
  }
  const auto begin = ops.begin();
  std::rotate(begin + static_cast<std::ptrdiff_t>(i), begin + static_cast<std::ptrdiff_t>(known_), ops.end());
  known_ = ops.size();
  return i + added;
}

}  // namespace ferry::onnx
