// Judges networks on integers operator by operator. Two correct implementations round differently, and the differences
// of many layers add up. For the same inputs, an operator's results differ by one step at most.
#pragma once

#include <ferry/ferry.h>

#include <filesystem>
#include <vector>

#include "cli/parity/compare.h"
#include "cli/parity/fixture.h"
#include "converter/graph/graph.h"

namespace ferry::parity {

// The largest difference of one step, in steps: it is computed in float32.
inline constexpr double kOneStep = 1.01;

// Whether a blob's only graph has Int8 activations.
bool computes_on_integers(const std::filesystem::path& blob);
bool computes_on_integers(const fbs::GraphT& graph);

// A value that later operators read from the reference.
struct Restart {
  TensorId value;                            // as the graph computes it
  TensorId given;                            // the input in its place
  TensorId integers = TensorId::None;        // Int8, of which `value` is the real numbers; None: it has none
  TensorId given_integers = TensorId::None;  // those of `given`
};

// Replaces, for all later operators, each value that the fixture has whole by an input, which `fixture` then has, too.
// Tensors keep their numbers.
std::vector<Restart> restart_from_reference(fbs::GraphT* graph, Fixture* fixture);

// Bounds the rows of values that are integers with a scale: their largest difference is one step.
void bound_by_steps(const fbs::GraphT& graph, Comparison* comparison);

// Compares the values that a blob on integers computes from the reference's inputs to each operator. Throws Error if
// the blob cannot be read or run.
Comparison compare_on_equal_inputs(const std::filesystem::path& blob, const Fixture& fixture,
                                   const ferry_session_options& session);

}  // namespace ferry::parity
