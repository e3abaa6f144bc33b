// Common checks of the rules. Each operator has one rule, in windows.cc, arithmetic.cc, norms.cc, attention.cc,
// movement.cc, indices.cc, recurrence.cc, loops.cc or states.cc.
#pragma once

#include <cstdint>
#include <span>

#include "ferry_generated.h"
#include "sdk/operators/operators.h"
#include "sdk/operators/shape.h"
#include "sdk/operators/shape_rules.h"
#include "sdk/status.h"

namespace ferry::shape_rules {

using Shapes = std::span<const Shape>;
using States = std::span<const StateShape>;

// Far above any network's values, and small enough that sums and products of two stay far inside 64 bits.
constexpr int32_t kMaxParameter = 1 << 20;

Status check_count(const char* op, Shapes inputs, size_t minimum, size_t maximum);
Status check_rank(const char* op, const char* what, const Shape& shape, int rank);
// Checks for one input [N,H,W,C].
Status check_image(const char* op, Shapes inputs);
Status check_parameter(const char* op, const char* what, int32_t value, int32_t minimum);
Status check_clamp(const char* op, float low, float high);
Status check_bias(const char* op, const Shape& bias, int32_t channels);
// Appends a dimension to `shape`.
Status append(const char* op, int64_t dimension, Shape* shape);
// The length of a parameter list; 0 if it is missing.
int length(const flatbuffers::Vector<int32_t>* list);
int32_t at(const flatbuffers::Vector<int32_t>* list, int i);
// Broadcasts as in NumPy; *output must be empty.
Status broadcast(const char* op, const Shape& a, const Shape& b, Shape* output);
Status check_length(const char* op, const char* what, const flatbuffers::Vector<int32_t>* list, const Shape& shape);

// Checks the parameters and sets *output, which must be empty, to the output's shape. `op`: the operator's name, for
// messages. For operators with several outputs, `output` points to an array of them.
#define FERRY_RULE(Type, ...) Status rule(const char* op, const fbs::Type& p, Shapes inputs, Shape* output);
FERRY_OPERATORS_ON_GPU(FERRY_RULE)
FERRY_OPERATORS_ON_CPU(FERRY_RULE)
#undef FERRY_RULE
#define FERRY_RULE(Type, ...) \
  Status rule(const char* op, const fbs::Type& p, Shapes inputs, States states, Shape* output);
FERRY_OPERATORS_WITH_STATE(FERRY_RULE)
#undef FERRY_RULE

}  // namespace ferry::shape_rules
