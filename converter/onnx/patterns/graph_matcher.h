// Patterns that need shapes, which files compute by chains of Shape, Gather and Concat. They match the imported graph,
// in which all shapes are known. Each rewrites the last operator of a match; the others become dead code.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "converter/graph/graph.h"

namespace ferry::onnx {

class GraphMatcher {
 public:
  explicit GraphMatcher(Graph& graph);

  Graph& graph() { return graph_; }
  // Without those added by rewrites.
  size_t size() const { return size_; }
  fbs::OperatorT& at(size_t i) { return *graph_.table.operators[i]; }
  Shape shape(TensorId tensor) const { return graph_.shape(tensor); }
  Tensor tensor(TensorId id) { return {&graph_, id}; }
  // Whether operator `i` computes Float32, which the operators that patterns become accept alone.
  bool computes_floats(size_t i) { return graph_.dtype(at(i).outputs.front()) == fbs::DType::Float32; }

  // The operator that computes `tensor` if it is of that kind; else null.
  fbs::OperatorT* producer(TensorId tensor, fbs::OpParams kind) const;
  // The first value upwards that is not computed by a reshape.
  TensorId before_reshapes(TensorId tensor) const;
  // The first value of that shape upwards through reshapes; nothing if there is none.
  std::optional<TensorId> reshaped_from(TensorId tensor, const Shape& shape) const;

  // Replaces operator `i` by `params` of `inputs`, keeping its output. Operators added for the inputs are moved before
  // it by finish(). A pattern rewrites operators in their order.
  template <typename Params>
  void rewrite(size_t i, Params params, const std::vector<Tensor>& inputs) {
    fbs::OpParamsUnion wrapped;
    wrapped.Set(std::move(params));
    rewrite_as(i, std::move(wrapped), inputs);
  }
  // Ends a pattern.
  void finish();

 private:
  void rewrite_as(size_t i, fbs::OpParamsUnion params, const std::vector<Tensor>& inputs);

  Graph& graph_;
  size_t size_;                // number of operators before the pattern
  std::vector<size_t> added_;  // by operator that was added after these: the one that it precedes
  std::unordered_map<TensorId, fbs::OperatorT*> producers_;
};

void recognise_batched_attention(GraphMatcher& m);
void recognise_windows(GraphMatcher& m);
void recognise_rotary_embedding(GraphMatcher& m);
void recognise_pixel_shuffle(GraphMatcher& m);

}  // namespace ferry::onnx
