#include "converter/onnx/patterns/graph_matcher.h"

namespace ferry::onnx {
namespace {

constexpr int kMaxReshapes = 16;  // looked through, so that many readers of a long chain do not each walk all of it

}  // namespace

GraphMatcher::GraphMatcher(Graph& graph) : graph_(graph), size_(graph.table.operators.size()) {
  for (const auto& op : graph.table.operators) producers_[op->outputs.front()] = op.get();
}

fbs::OperatorT* GraphMatcher::producer(TensorId tensor, fbs::OpParams kind) const {
  const auto found = producers_.find(tensor);
  return found != producers_.end() && found->second->params.type == kind ? found->second : nullptr;
}

TensorId GraphMatcher::before_reshapes(TensorId tensor) const {
  for (int i = 0; i < kMaxReshapes; ++i) {
    const fbs::OperatorT* op = producer(tensor, fbs::OpParams::Reshape);
    if (!op) break;
    tensor = op->inputs.front();
  }
  return tensor;
}

std::optional<TensorId> GraphMatcher::reshaped_from(TensorId tensor, const Shape& wanted) const {
  for (int i = 0; i <= kMaxReshapes; ++i) {
    if (shape(tensor) == wanted) return tensor;
    const fbs::OperatorT* op = producer(tensor, fbs::OpParams::Reshape);
    if (!op) break;
    tensor = op->inputs.front();
  }
  return {};
}

void GraphMatcher::rewrite_as(size_t i, fbs::OpParamsUnion params, const std::vector<Tensor>& inputs) {
  auto& ops = graph_.table.operators;
  fbs::OperatorT& op = *ops[i];
  op.params = std::move(params);
  op.inputs.clear();
  for (const Tensor& input : inputs) op.inputs.push_back(input.id);
  for (size_t k = size_ + added_.size(); k < ops.size(); ++k) {
    if (ops[k]->name.empty()) ops[k]->name = op.name;
    producers_[ops[k]->outputs.front()] = ops[k].get();
    added_.push_back(i);
  }
}

void GraphMatcher::finish() {
  std::vector<std::unique_ptr<fbs::OperatorT>> ops = std::move(graph_.table.operators), ordered;
  ordered.reserve(ops.size());
  size_t next = 0;  // of added_
  for (size_t i = 0; i < size_; ++i) {
    for (; next < added_.size() && added_[next] == i; ++next) ordered.push_back(std::move(ops[size_ + next]));
    ordered.push_back(std::move(ops[i]));
  }
  for (size_t k = size_ + next; k < ops.size(); ++k) ordered.push_back(std::move(ops[k]));
  added_.clear();
  size_ = ordered.size();
  graph_.table.operators = std::move(ordered);
}

}  // namespace ferry::onnx
