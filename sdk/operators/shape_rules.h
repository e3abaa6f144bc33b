// What shape an operator gives, and whether its parameters make sense: one rule an op, used by the verifier at every
// open, by the session at every resize, and by the converter while it builds.
#pragma once

#include <algorithm>
#include <span>

#include "ferry_generated.h"
#include "sdk/operators/operators.h"
#include "sdk/operators/shape.h"
#include "sdk/operators/type.h"
#include "sdk/status.h"

namespace ferry {

// A state as the rules see it: sdk/schema/ferry.fbs, `State`.
struct StateShape {
  // Of one with a window: how many indices the runtime keeps beyond those that are seen, for who goes back a little;
  // and by multiples of what it drops older ones, so that attention meets the others in the same panels, and gives the
  // same bits, as if all were kept.
  static constexpr int32_t kWindowReturn = 64, kWindowStep = 64;

  Shape bound;         // at its largest
  int axis = 0;        // -1: of fixed size
  int32_t length = 0;  // along the axis, before the run; of fixed size: how many tokens it was computed from
  fbs::DType dtype = fbs::DType::Float32;
  int32_t window = 0;  // above 0: the next run's operators see that many, its own tokens among them
  int32_t first = 0;   // the oldest index that it holds: the others were dropped

  bool fixed() const { return axis < 0; }
  bool has_window() const { return window > 0; }
  // How many indices it holds; not of fixed size.
  int32_t held() const { return length - first; }
  // What `first` may be: behind nothing that the next run's operators see.
  int32_t newest_first() const { return has_window() ? std::max(length - (window - 1), 0) : 0; }
  // The oldest index that it has to hold before a run, and how many it then holds at most.
  int32_t oldest_needed() const {
    const int64_t unseen = has_window() ? int64_t{length} - (window - 1) - kWindowReturn : 0;
    return std::max(first, static_cast<int32_t>(std::max<int64_t>(unseen, 0) / kWindowStep * kWindowStep));
  }
  int32_t most_held() const {
    const int64_t kept = int64_t{window} - 1 + kWindowReturn + kWindowStep - 1;
    return has_window() ? static_cast<int32_t>(std::min<int64_t>(kept, max_length())) : max_length();
  }
  int32_t max_length() const { return fixed() ? INT32_MAX : bound[axis]; }
  // What an operator that changes it makes of `length` by its first input.
  int32_t length_after(const Shape& x) const {
    return static_cast<int32_t>(std::min<int64_t>(int64_t{length} + x[fixed() ? 1 : axis], max_length()));
  }
  // What it holds.
  Shape shape() const {
    Shape shape = bound;
    if (!fixed()) shape[axis] = held();
    return shape;
  }
  // The largest that `append` makes of it and of x.
  Shape largest(const Shape& x) const {
    Shape shape = bound;
    shape[axis] = static_cast<int32_t>(std::min<int64_t>(int64_t{most_held()} + x[axis], bound[axis]));
    return shape;
  }
};

// Checks `op` (parameters in range, number and ranks of inputs) and computes the shapes of its outputs, of as many as
// are asked for. `states`: the graph's, for the operators that name one.
// Every intermediate is computed in 64 bits; dimensions above 2^31-1 or more than kMaxElements are refused.
// FERRY_SHAPE_MISMATCH: these inputs do not fit. FERRY_STATE_FULL: nor does what would be appended. FERRY_CORRUPT:
// parameters that no inputs could fit. FERRY_UNSUPPORTED: an operator or kind that this version does not know.
Status infer_shapes(const fbs::Operator& op, std::span<const Shape> inputs, std::span<const StateShape> states,
                    std::span<Shape> outputs);

// The same for the first output.
inline Status infer_shape(const fbs::Operator& op, std::span<const Shape> inputs, Shape* output,
                          std::span<const StateShape> states = {}) {
  return infer_shapes(op, inputs, states, {output, 1});
}

// The same where every state holds the most that it may: the largest shapes for these inputs. `states` are empty.
Status infer_largest_shapes(const fbs::Operator& op, std::span<const Shape> inputs, std::span<const StateShape> states,
                            std::span<Shape> outputs);

// What an operator puts into a state has its type; infer_shape() has taken the operator. FERRY_CORRUPT.
Status check_state_type(const fbs::Operator& op, std::span<const Type> inputs, std::span<const StateShape> states);

// The same failure, with the name of the operator it came from.
Status at_operator(const Status& status, const fbs::Operator& op);

}  // namespace ferry
