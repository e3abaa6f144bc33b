// The output is the state's memory; the elements before the appended ones do not move.
#include "sdk/cpu/backend/lowerings.h"
#include "sdk/cpu/elementwise/state_elements.h"
#include "sdk/graph/states.h"

namespace ferry::cpu {
namespace {

class Append : public Op {
 public:
  explicit Append(uint32_t state) : index_(state) {}

  void set_states(const States& states) override { elements_ = StateElements(states.shapes()[index_]); }

  Status reshape(std::span<const Shape> inputs, const Shape& output, Pool*, uint64_t* workspace) override {
    *workspace = 0;
    count_ = static_cast<size_t>(inputs[0].elements());
    held_ = static_cast<size_t>(output.elements()) - count_;
    return {};
  }

  Status setup(std::span<const void* const> inputs, void* output, void*) override {
    input_ = static_cast<const float*>(inputs[0]);  // or Int32, which is moved alike
    state_ = output;
    return {};
  }

  Status run(Pool*) override {
    elements_.store(input_, held_, count_, state_);
    return {};
  }

 private:
  const uint32_t index_;
  StateElements elements_;
  size_t count_ = 0, held_ = 0;
  const float* input_ = nullptr;
  void* state_ = nullptr;
};

}  // namespace

Status create_append(const CpuFeatures&, const Model&, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  *out = std::make_unique<Append>(state_of(op));
  return {};
}

}  // namespace ferry::cpu
