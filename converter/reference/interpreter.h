// The oracle applied to a whole graph: tests of passes compare before and after, and a wrong tap can be bisected with
// it.
#pragma once

#include <map>
#include <vector>

#include "converter/graph/graph.h"
#include "converter/reference/reference.h"

namespace ferry::reference {

// The rows that quantised weights are multiplied with: rounded as on the CPU, or as they are.
enum class Rows { Exact, Rounded };

// A constant of `graph` as the oracle takes it.
Array constant(const Graph& graph, TensorId tensor, Rows rows = Rows::Exact);

// A constant of an operator on Int8 activations: integers, with the scales of a weight.
Array integer_constant(const Graph& graph, TensorId tensor);

// Every value of `graph` (constants included) for these inputs, in the order of the graph's inputs.
// `states`: the graph's states before the run, and after it; null: all empty. Inputs may have other shapes than they
// declare. Slow: some seconds for a convolutional network of ordinary size. Throws Error where an input does not fit.
std::map<TensorId, Array> interpret(const Graph& graph, const std::vector<Array>& inputs,
                                    std::vector<State>* states = nullptr, Rows rows = Rows::Exact);

// What follows a LoopEnd that computed `outputs` from `inputs`: adds the outputs, with the rows of the steps before, to
// `values`. True: another step follows, for which `values` get the index and the states; it continues after the
// LoopBegin.
bool repeats(const fbs::OperatorT& end, Inputs inputs, const std::vector<Array>& outputs,
             std::map<TensorId, Array>* values);
// Whether `op` is the LoopBegin of `end`.
bool begins(const fbs::OperatorT& op, const fbs::OperatorT& end);

// The graph's states, all empty.
std::vector<State> empty_states(const Graph& graph);

}  // namespace ferry::reference
