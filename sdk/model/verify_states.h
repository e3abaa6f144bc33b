// Part of verify(): the states of a blob.
#pragma once

#include <memory>
#include <span>

#include "ferry_generated.h"
#include "sdk/operators/shape_rules.h"
#include "sdk/status.h"

namespace ferry {

// The states of a root graph, all empty, for shape inference.
struct StateShapes {
  std::unique_ptr<StateShape[]> list;
  size_t count = 0;

  operator std::span<const StateShape>() const { return {list.get(), count}; }
};

// Checks every state. FERRY_CORRUPT, FERRY_UNSUPPORTED, FERRY_OUT_OF_MEMORY.
Status verify_states(const fbs::Graph& root, StateShapes* states);

}  // namespace ferry
