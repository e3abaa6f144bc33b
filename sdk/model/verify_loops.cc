#include "sdk/model/verify_loops.h"

#include <algorithm>
#include <memory>
#include <new>

#include "sdk/model/model.h"
#include "sdk/operators/loops.h"
#include "sdk/operators/operators.h"

namespace ferry {
namespace {

constexpr uint32_t kMaxDepth = 16;

class Loops {
 public:
  explicit Loops(const fbs::Graph& graph) : graph_(graph) {}

  Status check() {
    const auto bounds = [](const fbs::Operator* op) { return bounds_loop(op->params_type()); };
    if (std::none_of(graph_.operators()->begin(), graph_.operators()->end(), bounds)) return {};
    scope_.reset(new (std::nothrow) uint32_t[graph_.tensors()->size()]());
    if (!scope_) return Status::out_of_memory();
    for (uint32_t i = 0; i < graph_.operators()->size(); ++i) {
      const fbs::Operator& op = *graph_.operators()->Get(i);
      FERRY_TRY(check_reads(i, op));
      if (op.params_type() == fbs::OpParams::LoopBegin) FERRY_TRY(begin(i));
      if (op.params_type() == fbs::OpParams::LoopEnd) FERRY_TRY(end(i, op));
      for (const TensorId t : *op.outputs()) scope_[index_of(t)] = depth_ == 0 ? 0 : numbers_[depth_ - 1];
    }
    if (depth_ != 0)
      return error(FERRY_CORRUPT, "operator %u '%.64s': no loop_end follows", begins_[depth_ - 1],
                   text(begin_of(depth_ - 1).name()));
    for (const fbs::Port* port : *graph_.outputs()) FERRY_TRY(check_port("output", *port));
    for (uint32_t i = 0; graph_.taps() != nullptr && i < graph_.taps()->size(); ++i)
      FERRY_TRY(check_port("tap", *graph_.taps()->Get(i)));
    return {};
  }

 private:
  const fbs::Operator& begin_of(uint32_t depth) const { return *graph_.operators()->Get(begins_[depth]); }

  // A value is visible in the loop that computes it and in those inside of that; 0 is no loop.
  bool visible(TensorId t) const {
    const uint32_t number = scope_[index_of(t)];
    return number == 0 || std::find(numbers_, numbers_ + depth_, number) != numbers_ + depth_;
  }

  Status check_reads(uint32_t index, const fbs::Operator& op) const {
    if (depth_ > 0 && names_state(op.params_type()))
      return error(FERRY_CORRUPT, "operator %u '%.64s': names state %u in a loop", index, text(op.name()),
                   state_of(op));
    for (const TensorId t : *op.inputs())
      if (!visible(t))
        return error(FERRY_CORRUPT, "operator %u '%.64s': reads tensor %u, which is computed in a loop that has ended",
                     index, text(op.name()), index_of(t));
    return {};
  }

  Status check_port(const char* kind, const fbs::Port& port) const {
    if (scope_[index_of(port.tensor())] == 0) return {};
    return error(FERRY_CORRUPT, "%s '%.64s': tensor %u is computed in a loop", kind, text(port.name()),
                 index_of(port.tensor()));
  }

  Status begin(uint32_t index) {
    if (depth_ == kMaxDepth)
      return error(FERRY_CORRUPT, "operator %u '%.64s': a loop in %u others, at most %u are allowed", index,
                   text(graph_.operators()->Get(index)->name()), depth_, kMaxDepth);
    begins_[depth_] = index;
    numbers_[depth_++] = ++count_;
    return {};
  }

  Status end(uint32_t index, const fbs::Operator& op) {
    using Begin = LoopBeginInputs;
    using End = LoopEndInputs;
    const char* name = text(op.name());
    if (depth_ == 0) return error(FERRY_CORRUPT, "operator %u '%.64s': ends no loop", index, name);
    const fbs::Operator& begin = begin_of(--depth_);
    const auto& inputs = *op.inputs();
    const auto states = static_cast<uint32_t>(op.params_as_LoopEnd()->states());
    bool continues = op.params_as_LoopEnd()->unlimited() == begin.params_as_LoopBegin()->unlimited() &&
                     inputs.Get(End::kExtent) == begin.inputs()->Get(Begin::kExtent) &&
                     inputs.Get(End::kCount) == begin.inputs()->Get(Begin::kCount) &&
                     inputs.Get(End::kIndex) == output_of(begin) && states + 1 == begin.outputs()->size();
    for (uint32_t i = 0; continues && i < states; ++i)
      continues = inputs.Get(static_cast<uint32_t>(End::kStates) + i) == begin.outputs()->Get(1 + i);
    if (continues) return {};
    return error(FERRY_CORRUPT,
                 "operator %u '%.64s': expected extent, count, index and the states of operator %u '%.64s'", index,
                 name, begins_[depth_], text(begin.name()));
  }

  const fbs::Graph& graph_;
  std::unique_ptr<uint32_t[]> scope_;  // of each tensor: the number of the innermost loop that computes it, or 0
  uint32_t begins_[kMaxDepth], numbers_[kMaxDepth];  // of the loops that are open
  uint32_t depth_ = 0, count_ = 0;
};

}  // namespace

Status verify_loops(const fbs::Graph& graph) { return Loops(graph).check(); }

}  // namespace ferry
