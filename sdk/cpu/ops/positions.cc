#include <numeric>

#include "sdk/cpu/backend/lowerings.h"
#include "sdk/graph/states.h"

namespace ferry::cpu {
namespace {

class Positions : public Op {
 public:
  explicit Positions(uint32_t state) : state_(state) {}

  void set_states(const States& states) override { first_ = states.shapes()[state_].length; }

  Status reshape(std::span<const Shape>, const Shape& output, Pool*, uint64_t* workspace) override {
    *workspace = 0;
    count_ = output[0];
    return {};
  }

  Status setup(std::span<const void* const>, void* output, void*) override {
    output_ = static_cast<int32_t*>(output);
    return {};
  }

  Status run(Pool*) override {
    std::iota(output_, output_ + count_, first_);
    return {};
  }

 private:
  uint32_t state_;
  int32_t first_ = 0, count_ = 0;
  int32_t* output_ = nullptr;
};

}  // namespace

Status create_positions(const CpuFeatures&, const Model&, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  *out = std::make_unique<Positions>(op.params_as_Positions()->state());
  return {};
}

}  // namespace ferry::cpu
