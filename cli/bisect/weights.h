// Weights of another training: told by name, before any operator is suspected.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/bisect/piece.h"
#include "cli/parity/fixture.h"
#include "converter/checkpoint/checkpoint.h"

namespace ferry::bisect {

// Tensors that both sides have, in the same shape.
struct UnlikeTensors {
  std::vector<std::string> names;  // of those whose values differ, in the order of the network or of the manifest
  size_t compared = 0;
};

// The checkpoint's tensors against those that the fixture was computed with, as far as its manifest says how these
// follow from a seed.
UnlikeTensors unlike_fixture(const Checkpoint& checkpoint, const parity::Fixture& fixture);

// A blob's constants against those of the graph that a checkpoint gives, after passes. `matching`: from the blob's
// values to the graph's.
UnlikeTensors unlike_graph(const Source& blob, const Source& graph, const std::map<TensorId, TensorId>& matching);

}  // namespace ferry::bisect
