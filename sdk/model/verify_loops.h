// Part of verify(): the loops around the operator that is being checked.
#pragma once

#include "ferry_generated.h"
#include "sdk/status.h"

namespace ferry {

class OpenLoops {
 public:
  explicit OpenLoops(const fbs::Graph& graph) : graph_(graph) {}

  // Called for every operator, in order, when its tensors and shapes have been verified. *ended: the operators from
  // there up to this one are in a loop that it ends; otherwise unchanged. FERRY_CORRUPT: loops are not nested within
  // one another, a LoopEnd does not continue its LoopBegin, or an operator in a loop names a state.
  Status follow(uint32_t index, uint32_t* ended);
  // FERRY_CORRUPT: a loop does not end.
  Status finish() const;

 private:
  static constexpr uint32_t kMaxDepth = 16;

  const fbs::Graph& graph_;
  uint32_t begins_[kMaxDepth];
  uint32_t depth_ = 0;
};

}  // namespace ferry
