// One operator on Int8 with its scales and constants, and the causes that make it wrong.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "converter/quantize/plan.h"

namespace ferry::int8 {

struct OneOperator {
  // Operator `index` of `graph`, on these values.
  OneOperator(const Graph& graph, size_t index, const PerTensor<std::vector<float>>& values);

  // Power of the difference to the float network's result.
  double noise(int threads) const;

  const Graph& graph;
  const size_t index;
  const PerTensor<std::vector<float>>& values;
  PerTensor<Affine> affine;      // by tensor of `graph`
  std::optional<Weight> weight;  // of conv2d and linear
  std::vector<int8_t> table;     // of a function of one value; empty: computed
  fbs::OpParamsUnion params;
};

Weight nearest_weight(const Graph& graph, const fbs::OperatorT& op);
// As a blob stores it. `input`: the scale of the operator's input.
Weight stored_weight(const Graph& graph, const fbs::OperatorT& op, float input);
std::vector<int8_t> stored_integers(const Graph& graph, TensorId constant);

// The change of `actual`, whose noise is `noise`, towards `proper` that removes most of it, in words; "" if none
// removes the greater part.
std::string cause_of(const OneOperator& actual, const OneOperator& proper, double noise, int threads);

}  // namespace ferry::int8
