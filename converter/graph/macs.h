// Multiply-accumulates, the measure of a network's work that does not depend on the machine.
#pragma once

#include <cstdint>
#include <functional>

#include "converter/graph/graph.h"

namespace ferry {

// Counts those of a graph's operators, in order: an operator in a loop is counted once per step of its extent.
class MacCounter {
 public:
  // Of a convolution, a linear or a product; 0 of other operators. `shape_of` returns a tensor's shape.
  uint64_t count(const fbs::Operator& op, const std::function<Shape(TensorId)>& shape_of);

 private:
  std::vector<uint64_t> times_ = {1};  // how often the operators of each open loop are computed
};

// Of all operators, at the declared shapes; without the graphs in it.
uint64_t macs_of(const Graph& graph);

}  // namespace ferry
