// The output is the state's memory; the elements before the appended ones do not move.
#include <cstring>

#include "sdk/cpu/backend/lowerings.h"

namespace ferry::cpu {
namespace {

class Append : public Op {
 public:
  explicit Append(size_t element_bytes) : element_bytes_(element_bytes) {}

  Status reshape(std::span<const Shape> inputs, const Shape& output, Pool*, uint64_t* workspace) override {
    *workspace = 0;
    bytes_ = static_cast<size_t>(inputs[0].elements()) * element_bytes_;
    held_ = static_cast<size_t>(output.elements()) * element_bytes_ - bytes_;
    return {};
  }

  Status setup(std::span<const void* const> inputs, void* output, void*) override {
    input_ = inputs[0];
    state_ = static_cast<std::byte*>(output);
    return {};
  }

  Status run(Pool*) override {
    std::memcpy(state_ + held_, input_, bytes_);
    return {};
  }

 private:
  size_t element_bytes_;
  size_t bytes_ = 0, held_ = 0;
  const void* input_ = nullptr;
  std::byte* state_ = nullptr;
};

}  // namespace

Status create_append(const CpuFeatures&, const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  *out = std::make_unique<Append>(element_bytes(model, op));
  return {};
}

}  // namespace ferry::cpu
