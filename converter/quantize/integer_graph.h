// Builds the integer graph of a plan.
#pragma once

#include <memory>
#include <span>

#include "converter/graph/graph.h"
#include "converter/quantize/plan.h"

namespace ferry::int8 {

struct IntegerGraph {
  static constexpr size_t kConversion = SIZE_MAX;

  std::unique_ptr<Graph> graph;
  std::vector<size_t> sources;  // by operator: the one of the float graph that it computes, or kConversion
  PerTensor<TensorId> floats;   // by tensor of the float graph: the same value as Float32; None if it has no such form
};

// Whether operator `index` computes on Int8: as the plan says, unless a channel's multiplier would leave the range of
// the integer arithmetic.
bool computes_on_integers(const Graph& graph, const Plan& plan, size_t index);

// The float graph with these operators on Int8 activations, and conversions (Requantize) where a value is needed in its
// other type, each once. Inputs and outputs stay Float32 or Int32. The taps of blocks remain, by conversions that a
// session without them leaves out; others where their value has a Float32 form. `watched`: activations that shall have
// a Float32 form.
IntegerGraph integer_graph(const Graph& graph, const Plan& plan, std::span<const TensorId> watched = {});

}  // namespace ferry::int8
