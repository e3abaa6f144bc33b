// What exporters scatter over many nodes and ferry has as one operator. A pattern finds such nodes and puts one of the
// domain "ferry" in their place, which ops/ferry_ops.cc imports; or, where sizes matter, such operators of the graph
// and rewrites the last of them. Each is one file here and can be switched off.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "converter/onnx/model.h"

namespace ferry::onnx {

// The model's nodes, those that a pattern recognises replaced, still in an order that computes. `disabled`: names of
// patterns to leave out; "all" leaves out every one. Throws Error where none has such a name.
std::vector<Node> apply_patterns(const Model& model, const std::set<std::string>& disabled);
// The patterns that need sizes, in the imported graph.
void apply_patterns(Graph& graph, const std::set<std::string>& disabled);

}  // namespace ferry::onnx
