// Of verify(): how an app's data becomes a graph's first input, and its first output an answer.
#pragma once

#include "ferry_generated.h"
#include "sdk/status.h"

namespace ferry {

// `graph` is the root or one of its graphs; its tensors and ports have been checked, and the root's tokenizer.
Status verify_recipes(const fbs::Graph& graph, const fbs::Graph& root);

// Does the graph that `graph` names for prompts exist, with the ports that the schema promises? Of a blob whose graphs
// have all been checked.
Status verify_prompts(const fbs::Graph& graph, const fbs::Graph& root);

}  // namespace ferry
