// Part of verify(): preprocessing and postprocessing of graphs.
#pragma once

#include "ferry_generated.h"
#include "sdk/status.h"

namespace ferry {

// `graph` is the root or a nested graph; its tensors and ports have been checked.
Status verify_recipes(const fbs::Graph& graph);

// Checks that the second graph of the task of `graph` exists and has the ports that the schema requires. All graphs
// have been checked.
Status verify_second_graph(const fbs::Graph& graph, const fbs::Graph& root);

}  // namespace ferry
