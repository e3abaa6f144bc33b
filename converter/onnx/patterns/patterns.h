// Patterns: operators that exporters decompose into several nodes. A pattern replaces such nodes by one of the domain
// "ferry", which ops/ferry_ops.cc imports. Patterns that need shapes match the graph's operators instead and rewrite
// the last one. Each pattern is a file and can be disabled.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "converter/onnx/model.h"

namespace ferry::onnx {

// Returns the model's nodes with matches replaced, in topological order. `disabled`: names of patterns, or "all".
// Throws Error for an unknown name.
std::vector<Node> apply_patterns(const Model& model, const std::set<std::string>& disabled);
// Applies the patterns that need shapes to the imported graph.
void apply_patterns(Graph& graph, const std::set<std::string>& disabled);

}  // namespace ferry::onnx
