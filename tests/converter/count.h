// Counts a graph's operators of one type.
#pragma once

#include <algorithm>

#include "converter/graph/graph.h"

namespace ferry {

inline auto count(const Graph& graph, fbs::OpParams type) {
  return std::count_if(graph.table.operators.begin(), graph.table.operators.end(),
                       [&](const auto& op) { return op->params.type == type; });
}

}  // namespace ferry
