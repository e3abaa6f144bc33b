// The output is the state's memory: what it held stays where it is.
#include <cstring>

#include "sdk/cpu/lowerings.h"

namespace ferry::cpu {
namespace {

class Append : public Op {
 public:
  Status reshape(std::span<const Shape> inputs, const Shape& output, pthreadpool_t, size_t* workspace) override {
    *workspace = 0;
    bytes_ = static_cast<size_t>(inputs[0].elements()) * kElementBytes;
    held_ = static_cast<size_t>(output.elements()) * kElementBytes - bytes_;
    return {};
  }

  Status setup(std::span<const void* const> inputs, void* output, void*) override {
    input_ = inputs[0];
    state_ = static_cast<std::byte*>(output);
    return {};
  }

  Status run(pthreadpool_t) override {
    std::memcpy(state_ + held_, input_, bytes_);
    return {};
  }

 private:
  static constexpr size_t kElementBytes = 4;  // Float32 and Int32
  size_t bytes_ = 0, held_ = 0;
  const void* input_ = nullptr;
  std::byte* state_ = nullptr;
};

}  // namespace

Status create_append(const Model&, const fbs::Operator&, std::unique_ptr<Op>* out) {
  *out = std::make_unique<Append>();
  return {};
}

}  // namespace ferry::cpu
