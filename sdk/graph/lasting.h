// What depends on lasting inputs alone (Port.lasting) and need not be computed in each run.
#pragma once

#include <span>
#include <vector>

#include "sdk/model/model.h"

namespace ferry {

struct LastingParts {
  std::vector<bool> operators;   // which of the graph's; empty where no input lasts
  std::vector<TensorId> values;  // what they compute that other operators read, or that is in `kept`
};

// `kept`: read by the caller after a run.
LastingParts find_lasting(const Model& model, std::span<const TensorId> kept);

}  // namespace ferry
