// The oracle: every operator computed plainly, in double. It folds constants, and op tests compare every backend with it.
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
};

// A state before a run: `shape.length` indices of its axis.
struct State {
  StateShape shape;
  std::vector<double> values = {};
};

// The first output of `op` for these inputs and the graph's states. Throws Error where they do not fit.
Array compute(const fbs::Operator& op, std::span<const Array* const> inputs, std::span<const State> states = {});

// All outputs that `op` names.
std::vector<Array> compute_all(const fbs::Operator& op, std::span<const Array* const> inputs,
                               std::span<const State> states = {});

}  // namespace ferry::reference
