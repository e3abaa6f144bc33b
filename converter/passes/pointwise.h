// Products of each place's channels alone: linear layers and 1x1 convolutions, as passes find and change them.
#pragma once

#include <functional>
#include <vector>

#include "converter/graph/graph.h"

namespace ferry {

// Is `op` one, by constants, without a clamp?
bool is_pointwise(const Graph& graph, const fbs::OperatorT& op);

// A constant weight O,...,I with 1 between. Its numbers are computed by `values` when they are asked for; `inputs`: its
// I.
Tensor pointwise_weight(Graph& graph, TensorId like, int inputs, std::function<std::vector<double>()> values);

// The numbers of a constant, read when they are asked for.
std::function<std::vector<double>()> later_values(const Graph& graph, TensorId constant);

}  // namespace ferry
