#include <cstring>

#include "sdk/cpu/lowerings.h"
#include "sdk/cpu/parallel.h"
#include "sdk/cpu/xnn.h"

namespace ferry::cpu {
namespace {

// The same bytes: nothing to do where the plan lets the output share the input's memory.
class Reshape : public Op {
 public:
  Status reshape(std::span<const Shape> inputs, const Shape&, pthreadpool_t, size_t* workspace) override {
    *workspace = 0;
    count_ = elements(inputs[0]);
    return {};
  }

  Status setup(std::span<const void* const> inputs, void* output, void*) override {
    input_ = floats(inputs[0]);
    output_ = floats(output);
    return {};
  }

  Status run(pthreadpool_t pool) override {
    if (input_ == output_) return {};
    parallel_for(pool, count_, kGrain, [&](size_t begin, size_t end) {
      std::memcpy(output_ + begin, input_ + begin, (end - begin) * sizeof(float));
    });
    return {};
  }

 private:
  size_t count_ = 0;
  const float* input_ = nullptr;
  float* output_ = nullptr;
};

}  // namespace

Status create_reshape(const Model&, const fbs::Operator&, std::unique_ptr<Op>* out) {
  *out = std::make_unique<Reshape>();
  return {};
}

}  // namespace ferry::cpu
