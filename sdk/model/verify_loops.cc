#include "sdk/model/verify_loops.h"

#include "sdk/model/model.h"
#include "sdk/operators/loops.h"
#include "sdk/operators/operators.h"

namespace ferry {

Status OpenLoops::follow(uint32_t index, uint32_t* ended) {
  using Begin = LoopBeginInputs;
  using End = LoopEndInputs;
  const fbs::Operator& op = *graph_.operators()->Get(index);
  const char* name = text(op.name());
  if (depth_ > 0 && names_state(op.params_type()))
    return error(FERRY_CORRUPT, "operator %u '%.64s': names state %u in a loop", index, name, state_of(op));
  if (op.params_type() == fbs::OpParams::LoopBegin) {
    if (depth_ == kMaxDepth)
      return error(FERRY_CORRUPT, "operator %u '%.64s': a loop in %u others, at most %u are allowed", index, name,
                   depth_, kMaxDepth);
    begins_[depth_++] = index;
  }
  const fbs::LoopEnd* end = op.params_as_LoopEnd();
  if (end == nullptr) return {};
  if (depth_ == 0) return error(FERRY_CORRUPT, "operator %u '%.64s': ends no loop", index, name);
  *ended = begins_[--depth_];
  const fbs::Operator& begin = *graph_.operators()->Get(*ended);
  const auto& inputs = *op.inputs();
  const auto states = static_cast<uint32_t>(end->states());
  bool continues = end->unlimited() == begin.params_as_LoopBegin()->unlimited() &&
                   inputs.Get(End::kExtent) == begin.inputs()->Get(Begin::kExtent) &&
                   inputs.Get(End::kCount) == begin.inputs()->Get(Begin::kCount) &&
                   inputs.Get(End::kIndex) == output_of(begin) && states + 1 == begin.outputs()->size();
  for (uint32_t i = 0; continues && i < states; ++i)
    continues = inputs.Get(static_cast<uint32_t>(End::kStates) + i) == begin.outputs()->Get(1 + i);
  if (continues) return {};
  return error(FERRY_CORRUPT,
               "operator %u '%.64s': expected extent, count, index and the states of operator %u '%.64s'", index, name,
               *ended, text(begin.name()));
}

Status OpenLoops::finish() const {
  if (depth_ == 0) return {};
  const uint32_t begin = begins_[depth_ - 1];
  return error(FERRY_CORRUPT, "operator %u '%.64s': no loop_end follows", begin,
               text(graph_.operators()->Get(begin)->name()));
}

}  // namespace ferry
