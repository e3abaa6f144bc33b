// Matches a blob's values with those of the graph that its checkpoint gives.
#pragma once

#include <map>
#include <memory>

#include "models/families.h"

namespace ferry::bisect {

struct Matching {
  std::unique_ptr<Graph> graph;              // as the family's code builds it, without passes
  std::unique_ptr<Graph> after_passes;       // as it would be packed
  std::map<TensorId, TensorId> raw, passed;  // from the blob's tensors to those of either graph
};

// Matches the blob's graph number `index`. Operators are matched by module, kind and shape, in order. Operators of one
// side only are left out.
Matching match(const fbs::GraphT& blob, size_t index, const ConvertOptions& convert, Families families);

}  // namespace ferry::bisect
