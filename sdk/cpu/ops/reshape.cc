#include <cstring>

#include "sdk/cpu/backend/lowerings.h"
#include "sdk/cpu/backend/parallel.h"
#include "sdk/cpu/elementwise/float16.h"
#include "sdk/cpu/ops/move.h"

namespace ferry::cpu {
namespace {

// Copies the bytes, unless the plan lets the output share the input's memory.
class Reshape : public MoveOp {
 public:
  using MoveOp::MoveOp;

  Status reshape(std::span<const Shape>, const Shape& output, Pool*, uint64_t* workspace) override {
    *workspace = 0;
    bytes_ = static_cast<size_t>(output.elements()) * element_bytes_;
    return {};
  }

  Status run(Pool* pool) override {
    if (input_ == output_) return {};
    parallel_for(pool, bytes_, kGrain * element_bytes_,
                 [&](size_t begin, size_t end) { std::memcpy(output_ + begin, input_ + begin, end - begin); });
    return {};
  }

 private:
  size_t bytes_ = 0;
};

}  // namespace

Status create_reshape(const CpuFeatures&, const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  *out = std::make_unique<Reshape>(element_bytes(model, op));
  return {};
}

Status create_float16_reshape(const CpuFeatures&, const Model&, const fbs::Operator&, std::unique_ptr<Op>* out) {
  *out = std::make_unique<Reshape>(sizeof(Float16));
  return {};
}

}  // namespace ferry::cpu
