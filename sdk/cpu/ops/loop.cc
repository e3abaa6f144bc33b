// LoopBegin and LoopEnd move values between the steps of a loop; the backend repeats the operators between them
// (Op::flow()). The index and the states of the present step lie in the LoopBegin's outputs.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "sdk/cpu/backend/lowerings.h"
#include "sdk/operators/loops.h"

namespace ferry::cpu {
namespace {

constexpr size_t kElement = sizeof(float);  // of states and rows, Float32 or Int32

size_t bytes_of(const Shape& shape) { return static_cast<size_t>(shape.elements()) * kElement; }

int32_t first_of(const void* values) {
  int32_t value = 0;
  std::memcpy(&value, values, sizeof value);
  return value;
}

void set(void* to, int32_t value) { std::memcpy(to, &value, sizeof value); }

class LoopBegin : public Op {
 public:
  explicit LoopBegin(const fbs::LoopBegin& params) : unlimited_(params.unlimited()) {}

  Status reshape(std::span<const Shape> inputs, const Shape&, Pool*, uint64_t*) override {
    limit_ = unlimited_ ? INT32_MAX : inputs[At::kExtent][0];
    bytes_.clear();
    for (const Shape& state : inputs.subspan(At::kStates)) bytes_.push_back(bytes_of(state));
    return {};
  }

  Status setup(std::span<const void* const>, void*, void*) override { return {}; }
  Status setup_outputs(std::span<const void* const> inputs, std::span<void* const> outputs, void*) override {
    inputs_.assign(inputs.begin(), inputs.end());
    outputs_.assign(outputs.begin(), outputs.end());
    return {};
  }

  Status run(Pool*) override {
    if (const int32_t steps = first_of(inputs_[At::kCount]); steps > limit_)
      return error(FERRY_INVALID_ARGUMENT, "a loop of %d steps, at most %d can be computed", steps, limit_);
    set(outputs_[0], 0);
    for (size_t i = 0; i + 1 < outputs_.size(); ++i) std::memcpy(outputs_[i + 1], inputs_[At::kStates + i], bytes_[i]);
    return {};
  }

  Flow flow() const override { return first_of(inputs_[At::kCount]) != 0 ? Flow::Next : Flow::Leave; }

 private:
  using At = LoopBeginInputs;

  const bool unlimited_;
  int32_t limit_ = 0;
  std::vector<size_t> bytes_;  // of each state
  std::vector<const void*> inputs_;
  std::vector<void*> outputs_;
};

class LoopEnd : public Op {
 public:
  explicit LoopEnd(const fbs::LoopEnd& params)
      : states_(static_cast<size_t>(params.states())), unlimited_(params.unlimited()) {}

  Status reshape(std::span<const Shape> inputs, const Shape&, Pool*, uint64_t* workspace) override {
    extent_ = inputs[At::kExtent][0];
    limit_ = unlimited_ ? INT32_MAX : extent_;
    bytes_.clear();
    for (size_t i = 0; At::kStates + states_ + i < inputs.size(); ++i)
      bytes_.push_back(bytes_of(inputs[At::kStates + states_ + i]));
    *workspace = std::accumulate(bytes_.begin(), bytes_.begin() + static_cast<ptrdiff_t>(states_), uint64_t{0});
    return {};
  }

  Status setup(std::span<const void* const>, void*, void*) override { return {}; }
  Status setup_outputs(std::span<const void* const> inputs, std::span<void* const> outputs, void* workspace) override {
    inputs_.assign(inputs.begin(), inputs.end());
    outputs_.assign(outputs.begin(), outputs.end());
    const auto now = inputs.subspan(At::kStates, states_), next = inputs.subspan(At::kStates + states_, states_);
    const bool exchanged = std::find_first_of(now.begin(), now.end(), next.begin(), next.end()) != now.end();
    exchange_ = exchanged ? static_cast<char*>(workspace) : nullptr;
    return {};
  }

  Status run(Pool*) override {
    const int32_t count = first_of(inputs_[At::kCount]), steps = count < 0 ? limit_ : count;
    int32_t done = first_of(inputs_[At::kIndex]);
    repeats_ = false;
    if (done < steps) {
      for (size_t i = states_; i + 1 < outputs_.size(); ++i) std::memcpy(row(i, done), next(i), bytes_[i]);
      move_states();
      set(const_cast<void*>(inputs_[At::kIndex]), ++done);
      repeats_ = done < steps && first_of(inputs_[At::kCondition]) != 0;
    }
    if (!repeats_) finish(done);
    return {};
  }

  Flow flow() const override { return repeats_ ? Flow::Repeat : Flow::Next; }

 private:
  using At = LoopEndInputs;

  // const_cast: the present state is an output of the LoopBegin, which only this operator changes.
  void* state(size_t i) const { return const_cast<void*>(inputs_[At::kStates + i]); }
  // The next value of state i, or a row.
  const void* next(size_t i) const { return inputs_[At::kStates + states_ + i]; }
  char* row(size_t i, int32_t step) const {
    return static_cast<char*>(outputs_[i + 1]) + static_cast<size_t>(step) * bytes_[i];
  }

  // A state's next value may be another state.
  void move_states() const {
    char* copy = exchange_;
    for (size_t i = 0; copy != nullptr && i < states_; copy += bytes_[i++]) std::memcpy(copy, next(i), bytes_[i]);
    copy = exchange_;
    for (size_t i = 0; i < states_; ++i) {
      std::memcpy(state(i), exchange_ != nullptr ? copy : next(i), bytes_[i]);
      if (exchange_ != nullptr) copy += bytes_[i];
    }
  }

  void finish(int32_t done) const {
    set(outputs_[0], done);
    for (size_t i = 0; i + 1 < outputs_.size(); ++i) {
      if (i < states_)
        std::memcpy(outputs_[i + 1], state(i), bytes_[i]);
      else
        std::memset(row(i, done), 0, static_cast<size_t>(extent_ - done) * bytes_[i]);
    }
  }

  const size_t states_;
  const bool unlimited_;
  bool repeats_ = false;
  int32_t extent_ = 0, limit_ = 0;
  char* exchange_ = nullptr;   // for the states' next values, if some of them are states
  std::vector<size_t> bytes_;  // of each state and row
  std::vector<const void*> inputs_;
  std::vector<void*> outputs_;
};

}  // namespace

Status create_loop_begin(const CpuFeatures&, const Model&, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  *out = std::make_unique<LoopBegin>(*op.params_as_LoopBegin());
  return {};
}

Status create_loop_end(const CpuFeatures&, const Model&, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  *out = std::make_unique<LoopEnd>(*op.params_as_LoopEnd());
  return {};
}

}  // namespace ferry::cpu
