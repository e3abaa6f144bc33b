// Infers an operator's output shapes and checks its parameters: one rule per operator. Used by the verifier at every
// open, by the session at every resize, and by the converter while it builds a graph.
#pragma once

#include <algorithm>
#include <span>

#include "ferry_generated.h"
#include "sdk/operators/operators.h"
#include "sdk/operators/shape.h"
#include "sdk/operators/type.h"
#include "sdk/status.h"

namespace ferry {

// A state as the rules see it; see `State` in sdk/schema/ferry.fbs.
struct StateShape {
  // For states with a window. kWindowReturn: indices kept beyond the window, so that a caller can rewind a little.
  // kWindowStep: older indices are dropped in multiples of this, so that attention packs the remaining ones into the
  // same panels and computes the same bits as if all were kept.
  static constexpr int32_t kWindowReturn = 64, kWindowStep = 64;

  Shape bound;   // the maximum
  int axis = 0;  // -1: of fixed size
  // along the axis, before the run; for a state of fixed size: number of tokens that it was computed from
  int32_t length = 0;
  fbs::DType dtype = fbs::DType::Float32;
  int32_t window = 0;  // above 0: the number of indices that the next run's operators read, its own tokens included
  int32_t block = 0;   // above 0: only attention reads it, and it may have fewer bits (Float16, Int8)
  int32_t first = 0;   // the oldest index that it holds; older ones were dropped

  bool fixed() const { return axis < 0; }
  bool has_window() const { return window > 0; }
  // Bytes of one index; of a state of fixed size: of all of it. Int8 has a scale for every block, Float32.
  uint64_t row_bytes() const {
    const int64_t elements = bound.elements() / (fixed() ? 1 : bound[axis]);
    const int64_t scales = dtype == fbs::DType::Int8 ? elements / block : 0;
    return bytes_of(dtype, elements) + bytes_of(fbs::DType::Float32, scales);
  }
  // Number of indices held; not for states of fixed size.
  int32_t held() const { return length - first; }
  // Maximum value of `first`: the next run's operators read no older index.
  int32_t newest_first() const { return has_window() ? std::max(length - (window - 1), 0) : 0; }
  // The oldest index to hold before a run, and the maximum number of indices then held.
  int32_t oldest_needed() const {
    const int64_t unseen = has_window() ? int64_t{length} - (window - 1) - kWindowReturn : 0;
    return std::max(first, static_cast<int32_t>(std::max<int64_t>(unseen, 0) / kWindowStep * kWindowStep));
  }
  int32_t max_held() const {
    const int64_t kept = int64_t{window} - 1 + kWindowReturn + kWindowStep - 1;
    return has_window() ? static_cast<int32_t>(std::min<int64_t>(kept, max_length())) : max_length();
  }
  int32_t max_length() const { return fixed() ? INT32_MAX : bound[axis]; }
  // `length` after an operator that changes the state, given its first input.
  int32_t length_after(const Shape& x) const {
    return static_cast<int32_t>(std::min<int64_t>(int64_t{length} + x[fixed() ? 1 : axis], max_length()));
  }
  // The shape of the contents.
  Shape shape() const {
    Shape shape = bound;
    if (!fixed()) shape[axis] = held();
    return shape;
  }
  // The maximum output shape of `append` with input x.
  Shape largest(const Shape& x) const {
    Shape shape = bound;
    shape[axis] = static_cast<int32_t>(std::min<int64_t>(int64_t{max_held()} + x[axis], bound[axis]));
    return shape;
  }
};

// Checks `op` (parameter ranges, number and ranks of inputs) and computes the shapes of its first outputs.size()
// outputs. `states`: the graph's, for operators that name one. Intermediates are 64-bit; dimensions above 2^31-1 and
// more than kMaxElements elements are errors. FERRY_SHAPE_MISMATCH: the inputs do not fit. FERRY_STATE_FULL: the state
// has no room. FERRY_CORRUPT: no inputs could fit the parameters. FERRY_UNSUPPORTED: this version does not know the
// operator or kind.
Status infer_shapes(const fbs::Operator& op, std::span<const Shape> inputs, std::span<const StateShape> states,
                    std::span<Shape> outputs);

// The same for the first output.
inline Status infer_shape(const fbs::Operator& op, std::span<const Shape> inputs, Shape* output,
                          std::span<const StateShape> states = {}) {
  return infer_shapes(op, inputs, states, {output, 1});
}

// The same if every state is at its maximum: the maximum shapes for these inputs. `states` are empty.
Status infer_largest_shapes(const fbs::Operator& op, std::span<const Shape> inputs, std::span<const StateShape> states,
                            std::span<Shape> outputs);

// Checks that an operator appends elements of the state's type; requires infer_shape(). FERRY_CORRUPT: it does not.
Status check_state_type(const fbs::Operator& op, std::span<const Type> inputs, std::span<const StateShape> states);

// The same error, prefixed with the operator's name.
Status at_operator(const Status& status, const fbs::Operator& op);

}  // namespace ferry
