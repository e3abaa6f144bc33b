// The oracle applied to a whole graph: tests of passes compare before and after, and a wrong tap can be bisected with
// it.
#pragma once

#include <functional>
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

// What follows the LoopEnd at `place`, which computed `outputs` from `inputs`: adds the outputs, with the rows of the
// steps before, to `values`. Returns the place after which to continue: of the LoopBegin if another step follows, for
// which `values` get the index and the states. op_at(i): operator i of the list.
size_t end_step(size_t place, const std::function<const fbs::OperatorT&(size_t)>& op_at, Inputs inputs,
                const std::vector<Array>& outputs, std::map<TensorId, Array>* values);

// The graph's states, all empty.
std::vector<State> empty_states(const Graph& graph);

}  // namespace ferry::reference
