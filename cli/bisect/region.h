// Where a fault must lie when no operator is known to be wrong.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "cli/bisect/piece.h"

namespace ferry::bisect {

// Operators between values that are right and one that is not.
struct Region {
  std::vector<std::string> from;       // the right values: the fixture's names, or inputs of the graph
  std::vector<std::string> operators;  // in order: "conv2d 'stem.conv'"
  std::vector<size_t> places;          // theirs in the piece

  bool empty() const { return operators.empty(); }
};

// Of a piece of `graph`. `names`: of values that are right. What leads to one of `right` besides is no suspect.
Region region_of(const Piece& piece, const Source& graph, const std::map<TensorId, std::string>& names,
                 const std::set<TensorId>& right);

// "unary Gelu, before 'layer.output'": kind, module, and of what bears no module's name its most telling parameter.
std::string told(const fbs::OperatorT& op, const fbs::GraphT& graph);

}  // namespace ferry::bisect
