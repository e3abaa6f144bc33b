// Weights of networks that round their activations in each run, as files with dynamic quantisation say.
#pragma once

#include "converter/graph/graph.h"

namespace ferry::int8 {

// Stores weights of linear layers and convolutions, and tables whose rows are gathered, as Int8 with scales, if they
// have the values of 8-bit integers with a scale per output channel or row: the same values in a quarter of the bytes.
// A backend may then multiply integers (docs/format.md, "Graph"). Unsigned integers with a zero point beyond 8 signed
// bits: of a linear layer a second, small one adds what exceeds them.
void keep_integer_weights(Graph& graph);

}  // namespace ferry::int8
