// Queries and edits of a graph for passes.
#pragma once

#include <vector>

#include "converter/passes/passes.h"
#include "sdk/model/per_tensor.h"

namespace ferry {

class Rewriter {
 public:
  Rewriter(Graph& graph, const PassOptions& options);

  // The operator that computes `tensor`; null for inputs, constants, outputs of removed operators and those added by
  // the pass.
  fbs::OperatorT* producer(TensorId tensor) const {
    return index_of(tensor) < producers_.size() ? producers_[tensor] : nullptr;
  }
  // The only operator that reads `tensor`, if it is not visible from outside; else null. A pass that has it may change
  // the value of `tensor`.
  fbs::OperatorT* only_reader(TensorId tensor) const;
  // All operators that read `tensor`, if it is not visible from outside; else empty.
  std::vector<fbs::OperatorT*> readers(TensorId tensor) const;

  // Makes `op` compute the output of `later`, its only reader; removes `later` and the value between.
  void take_over(fbs::OperatorT* op, fbs::OperatorT* later);
  // Sets input `input` of `op` to `tensor`, appending one if needed. A constant that becomes unused is released.
  void set_input(fbs::OperatorT* op, size_t input, Tensor tensor);
  // Replaces parameters and inputs of `op`; its output stays.
  void replace(fbs::OperatorT* op, fbs::OpParamsUnion params, const std::vector<Tensor>& inputs);
  // Removes `op` and its value, which must be unused.
  void remove(fbs::OperatorT* op);
  // Ends the pass: removes operators from the graph; the others keep their order.
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

// Whether all inputs but the first are constants.
bool by_constants(const Graph& graph, const fbs::OperatorT& op);

// Rows [begin, begin + count) of a constant's first dimension, sharing its bytes.
Tensor rows_of(Graph& graph, TensorId constant, int begin, int count);

// The fields of `op` with the clamp of its result; null if it has none.
struct Clamp {
  float* low = nullptr;
  float* high = nullptr;
};
Clamp clamp_of(fbs::OperatorT& op);

}  // namespace ferry
