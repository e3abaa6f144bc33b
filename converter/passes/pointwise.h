// Per-position products of the channels, linear layers and 1x1 convolutions, for passes.
#pragma once

#include <functional>
#include <vector>

#include "converter/graph/graph.h"

namespace ferry {

// Whether `op` is one with constant weights and without a clamp.
bool is_pointwise(const Graph& graph, const fbs::OperatorT& op);

// A constant weight O,...,I with ones between. `values` computes its elements on demand; `inputs` is I.
Tensor pointwise_weight(Graph& graph, TensorId like, int inputs, std::function<std::vector<double>()> values);

// A function that reads a constant's elements on demand.
std::function<std::vector<double>()> later_values(const Graph& graph, TensorId constant);

}  // namespace ferry
