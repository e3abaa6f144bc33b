// Detects weights of another training by name, before any operator is suspected.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/bisect/piece.h"
#include "cli/parity/fixture.h"
#include "converter/checkpoint/checkpoint.h"

namespace ferry::bisect {

// Tensors that both sides have in the same shape.
struct UnlikeTensors {
  std::vector<std::string> names;  // names of the tensors that differ, in the order of the network or the manifest
  size_t compared = 0;
};

// Compares the checkpoint's tensors with the fixture's, as far as the manifest has rules to compute these from a seed.
UnlikeTensors unlike_fixture(const Checkpoint& checkpoint, const parity::Fixture& fixture);

// Compares a blob's constants with those of the graph built from a checkpoint, after passes. `matching`: from the
// blob's values to the graph's.
UnlikeTensors unlike_graph(const Source& blob, const Source& graph, const std::map<TensorId, TensorId>& matching);

}  // namespace ferry::bisect
