// Bounds the location of a fault if no operator is known to be wrong.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "cli/bisect/piece.h"

namespace ferry::bisect {

// The operators between right values and a wrong one.
struct Region {
  std::vector<std::string> from;       // the right values: names of the fixture, or inputs of the graph
  std::vector<std::string> operators;  // in execution order: "conv2d 'stem.conv'"
  std::vector<size_t> places;          // their positions in the piece

  bool empty() const { return operators.empty(); }
};

// The region of a piece of `graph`. `names`: the names of the values that are right. Operators whose outputs only lead
// to values in `right` are left out.
Region region_of(const Piece& piece, const Source& graph, const std::map<TensorId, std::string>& names,
                 const std::set<TensorId>& right);

// Describes an operator by kind, most significant parameter and module: "unary Gelu, before 'layer.output'".
std::string operator_text(const fbs::OperatorT& op, const fbs::GraphT& graph);

}  // namespace ferry::bisect
