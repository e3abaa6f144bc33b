#include <atomic>
#include <cstdint>
#include <cstring>

#include "sdk/cpu/lowerings.h"
#include "sdk/cpu/parallel.h"
#include "sdk/cpu/places.h"
#include "sdk/model/numbers.h"

namespace ferry::cpu {
namespace {

// Elements of four bytes, whatever they are.
void copy(const uint32_t* from, size_t count, uint32_t* to) { std::memcpy(to, from, count * sizeof *to); }

// Float16, whose slices come out as Float32.
void copy(const uint16_t* from, size_t count, float* to) {
  for (size_t i = 0; i < count; ++i) to[i] = from_half(from[i]);
}

template <typename From, typename To>
class Gather : public Op {
 public:
  explicit Gather(const fbs::Gather& p) : places_(p.kind(), p.axis()) {}

  Status reshape(std::span<const Shape> inputs, const Shape&, pthreadpool_t, size_t* workspace) override {
    *workspace = 0;
    places_.plan(inputs[0], inputs[1]);
    return {};
  }

  Status setup(std::span<const void* const> inputs, void* output, void*) override {
    input_ = static_cast<const From*>(inputs[0]);
    indices_ = static_cast<const int32_t*>(inputs[1]);
    output_ = static_cast<To*>(output);
    return {};
  }

  Status run(pthreadpool_t pool) override {
    std::atomic<size_t> bad = SIZE_MAX;
    parallel_rows(pool, places_.count(), places_.piece(), [&](size_t begin, size_t end) {
      size_t place = 0;
      for (size_t i = begin; i < end; ++i) {
        if (places_.find(indices_, i, &place)) {
          copy(input_ + place, places_.piece(), output_ + i * places_.piece());
        } else {
          bad = i;
        }
      }
    });
    return bad == SIZE_MAX ? Status() : places_.outside("gather", indices_, bad);
  }

 private:
  Places places_;
  const From* input_ = nullptr;
  const int32_t* indices_ = nullptr;
  To* output_ = nullptr;
};

}  // namespace

Status create_gather(const CpuFeatures&, const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  const fbs::Gather& p = *op.params_as_Gather();
  if (model.tensor(op.inputs()->Get(0)).dtype() == fbs::DType::Float16) {
    *out = std::make_unique<Gather<uint16_t, float>>(p);
  } else {
    *out = std::make_unique<Gather<uint32_t, uint32_t>>(p);
  }
  return {};
}

}  // namespace ferry::cpu
