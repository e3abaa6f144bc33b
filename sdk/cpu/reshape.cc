#include <cstring>

#include "sdk/cpu/half.h"
#include "sdk/cpu/lowerings.h"
#include "sdk/cpu/move.h"
#include "sdk/cpu/parallel.h"

namespace ferry::cpu {
namespace {

// The same bytes: nothing to do where the plan lets the output share the input's memory.
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

Status create_half_reshape(const CpuFeatures&, const Model&, const fbs::Operator&, std::unique_ptr<Op>* out) {
  *out = std::make_unique<Reshape>(sizeof(Half));
  return {};
}

}  // namespace ferry::cpu
