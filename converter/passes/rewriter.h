// What passes ask about a graph, and the few changes that they make to it.
#pragma once

#include <vector>

#include "converter/passes/passes.h"
#include "sdk/model/per_tensor.h"

namespace ferry {

class Rewriter {
 public:
  Rewriter(Graph& graph, const PassOptions& options);

  // The operator that computes `tensor`; null for inputs, constants, what a removed operator computed and what the pass
  // has added.
  fbs::OperatorT* producer(TensorId tensor) const {
    return index_of(tensor) < producers_.size() ? producers_[tensor] : nullptr;
  }
  // The one operator that reads `tensor`, where nobody outside sees it; else null. Whoever has this operator may change
  // what `tensor` holds.
  fbs::OperatorT* only_reader(TensorId tensor) const;
  // All operators that read `tensor`, where nobody outside sees it; else none.
  std::vector<fbs::OperatorT*> readers(TensorId tensor) const;

  // `op` computes what `later`, its only reader, did; `later` and the value between them are gone.
  void take_over(fbs::OperatorT* op, fbs::OperatorT* later);
  // `op` reads `tensor` at place `input` from now on (appended where it had one input less). A constant that nothing
  // else reads is forgotten.
  void set_input(fbs::OperatorT* op, size_t input, Tensor tensor);
  // `op` computes its output by `params` from `inputs` from now on.
  void replace(fbs::OperatorT* op, fbs::OpParamsUnion params, const std::vector<Tensor>& inputs);
  // `op` is gone, with the value that it computed, which nothing reads any more.
  void remove(fbs::OperatorT* op);
  // Ends the pass: the operators that are gone leave the graph, the rest keep their order.
  void finish();

 private:
  struct Uses {
    std::vector<fbs::OperatorT*> readers;
    bool seen = false;  // from outside
  };
  Uses& uses(TensorId tensor);

  Graph& graph_;
  PerTensor<fbs::OperatorT*> producers_;
  PerTensor<Uses> uses_;
};

// Are all inputs but the first constants?
bool by_constants(const Graph& graph, const fbs::OperatorT& op);

// Rows [begin, begin + count) of a constant, a row for each element of its first dimension; they share its bytes.
Tensor rows_of(Graph& graph, TensorId constant, int begin, int count);

// Where `op` keeps a clamp of its result; null where it has none to offer.
struct Clamp {
  float* low = nullptr;
  float* high = nullptr;
};
Clamp clamp_of(fbs::OperatorT& op);

}  // namespace ferry
