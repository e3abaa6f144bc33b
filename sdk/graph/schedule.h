// The operators that a run computes.
#pragma once

#include <span>
#include <vector>

#include "sdk/model/model.h"

namespace ferry {

struct Schedule {
  // Flags of an operator.
  static constexpr uint8_t kNeeded = 1;      // an output that the caller reads, or a state, depends on it
  static constexpr uint8_t kStaticOnly = 2;  // depends on static inputs (Port.static_input) and constants only
  std::vector<uint8_t> operators;
  bool has_static_inputs = false;  // the graph has static inputs
  std::vector<TensorId> cached;    // results of static-only operators that others read, or that are in `kept`
};

// `kept`: tensors that the caller reads after a run.
Schedule make_schedule(const Model& model, std::span<const TensorId> kept);

}  // namespace ferry
