// The simplest quantised network: what `ferry bench --types` measures.
#pragma once

#include "converter/quantize/plan.h"
#include "converter/quantize/sample.h"

namespace ferry::int8 {

// Every operator that can compute on Int8 does, with ranges from minimum to maximum and weights rounded to nearest.
Plan plain_plan(Graph& graph, const Samples& samples, int threads);

}  // namespace ferry::int8
