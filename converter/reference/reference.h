// The oracle: every operator computed plainly, in double. It folds constants, and op tests compare every backend with
// it.
#pragma once

#include <span>
#include <vector>

#include "ferry_generated.h"
#include "sdk/operators/shape.h"
#include "sdk/operators/shape_rules.h"

namespace ferry::reference {

struct Array {
  Shape shape;
  std::vector<double> values;  // row-major, channels last; of Int32 whole numbers
  fbs::DType dtype = fbs::DType::Float32;
  bool quantized = false;  // a constant whose values are integers times scales
  // Of a quantised weight: the rows that it is multiplied with are rounded to 8 bits first, as the CPU does
  // (converter/reference/rounded_rows.h). Otherwise they are taken as they are, as the GPU does.
  bool rounds_rows = false;
};

// A state before a run: `shape.length` indices of its axis; of fixed size all of it, or nothing for zeros.
struct State {
  StateShape shape;
  std::vector<double> values = {};
};

// The first output of `op` for these inputs and the graph's states. Throws Error where they do not fit.
Array compute(const fbs::Operator& op, std::span<const Array* const> inputs, std::span<const State> states = {});

// All outputs that `op` names.
std::vector<Array> compute_all(const fbs::Operator& op, std::span<const Array* const> inputs,
                               std::span<const State> states = {});

// What the state that `op` names and changes is after it gave `output`.
State changed_state(const fbs::Operator& op, std::span<const Array* const> inputs, const Array& output,
                    const State& before);

}  // namespace ferry::reference
