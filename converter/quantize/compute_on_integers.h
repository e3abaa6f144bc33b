// Moves the operators of an imported network onto Int8, with the scales that its file gives.
//
// Importers write what the file says: an operator reads Float32 values that Requantize makes of integers, and another
// Requantize rounds its result to integers (quantize_dequantize() in converter/graph/ops.h). Such a graph is right as
// it is. This pass, the last one, replaces what lies between conversions by its integer form:
//
//     Requantize to Float32 -> conv2d -> Requantize to Int8     conv2d on Int8
//
// An operator without an integer form stays as it is, between its conversions.
#pragma once

#include <string>
#include <vector>

#include "converter/passes/passes.h"

namespace ferry::int8 {

struct Lowered {
  size_t channels = 0, rounded = 0;  // of weights on Int8; those whose integers did not fit 8 signed bits
};

// Weights are whatever constants have the values of 8-bit integers with a scale per output channel: passes may have
// moved, sliced or joined them. Taps of values that are no longer computed disappear.
Lowered compute_on_integers(Graph& graph, const PassOptions& options);

// What an importer calls behind its passes: the same, with taps of up to 16 results along the network, so that a
// certificate has stages, unless every value has one already. `notes`: gets a sentence about weights that were rounded
// again; null: none.
void finish_integers(Graph& graph, const PassOptions& options, std::vector<std::string>* notes);

// Whether an activation is Int8.
bool has_int8_activations(const fbs::GraphT& graph);

}  // namespace ferry::int8
