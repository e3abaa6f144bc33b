// Verifies the loops of a graph.
#pragma once

#include "ferry_generated.h"
#include "sdk/status.h"

namespace ferry {

// Requires operators whose tensors and shapes have been verified. FERRY_CORRUPT: loops are not nested within one
// another, a LoopEnd does not continue its LoopBegin, an operator in a loop names a state, or a value that is computed
// in a loop is read outside of it.
Status verify_loops(const fbs::Graph& graph);

}  // namespace ferry
