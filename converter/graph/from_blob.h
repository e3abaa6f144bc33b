// The graph of a blob, to rewrite it.
#pragma once

#include <memory>
#include <vector>

#include "converter/graph/graph.h"

namespace ferry {

class Model;  // sdk/model/model.h

// The blob's graphs, with its segments as constants, which the graph keeps mapped. Without what describes the blob's
// bytes: certificates, packed weights, the checkpoint's buffer, the hash of the contents.
std::unique_ptr<Graph> graph_of(const std::shared_ptr<const Model>& blob);
// The same, each graph on its own, in the blob's order; states stay with the first.
std::vector<std::unique_ptr<Graph>> graphs_of(const std::shared_ptr<const Model>& blob);

}  // namespace ferry
