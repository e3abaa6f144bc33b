// Of verify(): how an app's data becomes a graph's first input, and its first output an answer.
#pragma once

#include "ferry_generated.h"
#include "sdk/status.h"

namespace ferry {

// `graph` is the root or one of its graphs; its tensors and ports have been checked.
Status verify_recipes(const fbs::Graph& graph);

// Does the graph exist that the task of `graph` names, with the ports that the schema promises? Of a blob whose graphs
// have all been checked.
Status verify_second_graph(const fbs::Graph& graph, const fbs::Graph& root);

}  // namespace ferry
