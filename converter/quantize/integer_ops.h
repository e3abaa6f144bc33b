// Constants of operators on Int8 activations, as docs/format.md, "Integer arithmetic", has them.
#pragma once

#include <string>
#include <vector>

#include "converter/graph/graph.h"
#include "converter/quantize/ranges.h"
#include "converter/quantize/weights.h"

namespace ferry::int8 {

// An Int8 activation [shape] without a producer yet.
TensorId add_activation(Graph& graph, const std::string& name, const Shape& shape, const Affine& affine);

// The results of `op`, a function of one value, for the 256 integers of its input; computed in float64.
std::vector<int8_t> table_of(const fbs::OperatorT& op, const Affine& input, const Affine& output);
// The same as an operand of `lookup`.
Tensor add_table(Graph& graph, const fbs::OperatorT& op, const Affine& input, const Affine& output);

// An operand of arithmetic.
Tensor add_operand(Graph& graph, const std::string& name, const Shape& shape, std::vector<int8_t> integers,
                   const Affine& affine);

// Inputs 1 and 2 of a conv2d or linear between activations of these scales: the integers [shape] with a scale per
// output channel, and the Int32 bias.
std::vector<Tensor> add_weight(Graph& graph, const std::string& name, const Shape& shape, const Weight& weight,
                               float input, float output);

}  // namespace ferry::int8
