// What shape an operator gives, and whether its parameters make sense: one rule an op, used by the verifier at every
// open, by the session at every resize, and by the converter while it builds.
#pragma once

#include <span>

#include "ferry_generated.h"
#include "sdk/operators/operators.h"
#include "sdk/operators/shape.h"
#include "sdk/status.h"

namespace ferry {

// Checks `op` (parameters in range, number and ranks of inputs) and computes its one output's shape.
// Every intermediate is computed in 64 bits; dimensions above 2^31-1 or more than 2^40 elements are refused.
// FERRY_SHAPE_MISMATCH: these inputs do not fit. FERRY_CORRUPT: parameters that no inputs could fit.
// FERRY_UNSUPPORTED: an operator or kind that this version does not know.
Status infer_shape(const fbs::Operator& op, std::span<const Shape> inputs, Shape* output);

// The same failure, with the name of the operator it came from.
Status at_operator(const Status& status, const fbs::Operator& op);

}  // namespace ferry
