// The graphs of a blob, one at a time.
#pragma once

#include <set>
#include <string>
#include <utility>

#include "cli/parity/compare.h"
#include "converter/graph/graph.h"
#include "ferry_generated.h"

namespace ferry::bisect {

// Graph `index` of a blob as a blob of its own over the same data. It has no task, which may refer to other graphs.
fbs::GraphT alone(const fbs::Graph& root, size_t index);

// `computed`, with the fixture's values for those outputs of the graph that it holds whole.
parity::ComputedTensors with_reference(const fbs::Graph& graph, const parity::Fixture& fixture,
                                       parity::ComputedTensors computed);

// Names of the constants that a graph reads for its outputs and taps; and of those that embeddings read.
std::pair<std::set<std::string>, std::set<std::string>> constants_read(const Graph& graph);

}  // namespace ferry::bisect
