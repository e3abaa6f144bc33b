// Which operators a run computes.
#pragma once

#include <span>
#include <vector>

#include "sdk/model/model.h"

namespace ferry {

struct Schedule {
  // Of each operator.
  static constexpr uint8_t kNeeded = 1;   // what the caller reads depends on it, or a state
  static constexpr uint8_t kSettled = 2;  // it depends on static inputs alone (Port.lasting)
  std::vector<uint8_t> operators;
  bool lasting = false;          // there are such inputs
  std::vector<TensorId> values;  // what settled operators compute that others read, or that is in `kept`
};

// `kept`: read by the caller after a run.
Schedule make_schedule(const Model& model, std::span<const TensorId> kept);

}  // namespace ferry
