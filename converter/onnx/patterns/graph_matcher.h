// Patterns that need sizes, which chains of Shape, Gather and Concat compute in a file: they look at the imported
// graph, where all shapes are known. Each rewrites the last operator of what it finds; what only that one read is dead
// code then.
#pragma once

#include <optional>
#include <unordered_map>

#include "converter/graph/graph.h"

namespace ferry::onnx {

class GraphMatcher {
 public:
  explicit GraphMatcher(Graph& graph);

  Graph& graph() { return graph_; }
  size_t size() const { return graph_.table.operators.size(); }
  fbs::OperatorT& at(size_t i) { return *graph_.table.operators[i]; }
  Shape shape(TensorId tensor) const { return graph_.shape(tensor); }
  Tensor tensor(TensorId id) { return {&graph_, id}; }

  // The operator that computes `tensor`, where it is of that kind; else null.
  fbs::OperatorT* producer(TensorId tensor, fbs::OpParams kind) const;
  // The first value upwards that is no reshape's.
  TensorId before_reshapes(TensorId tensor) const;
  // The first value upwards through reshapes of that shape; nothing where there is none.
  std::optional<TensorId> reshaped_from(TensorId tensor, const Shape& shape) const;

  // Operator `i` computes its output by `params` from `inputs` from now on. What was added to the graph for these comes
  // before it. Returns where operator i is now.
  template <typename Params>
  size_t rewrite(size_t i, Params params, const std::vector<Tensor>& inputs) {
    fbs::OpParamsUnion wrapped;
    wrapped.Set(std::move(params));
    return rewrite_as(i, std::move(wrapped), inputs);
  }

 private:
  size_t rewrite_as(size_t i, fbs::OpParamsUnion params, const std::vector<Tensor>& inputs);

  Graph& graph_;
  size_t known_;  // operators, before anything is added for the next rewrite
  std::unordered_map<TensorId, fbs::OperatorT*> producers_;
};

void recognise_batched_attention(GraphMatcher& m);
void recognise_windows(GraphMatcher& m);
void recognise_rotary_embedding(GraphMatcher& m);
void recognise_pixel_shuffle(GraphMatcher& m);

}  // namespace ferry::onnx
