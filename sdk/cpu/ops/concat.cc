#include <cstring>
#include <vector>

#include "sdk/cpu/backend/lowerings.h"
#include "sdk/cpu/backend/parallel.h"
#include "sdk/cpu/elementwise/float16.h"
#include "sdk/cpu/ops/rows.h"
#include "sdk/cpu/xnnpack/operator.h"

namespace ferry::cpu {
namespace {

// Each output row (all dimensions from the axis inwards) is the concatenation of the inputs' rows.
class Concat : public Op {
 public:
  Concat(int axis, size_t element_bytes) : axis_(axis), element_bytes_(element_bytes) {}

  Status reshape(std::span<const Shape> inputs, const Shape& output, Pool*, uint64_t* workspace) override {
    *workspace = 0;
    rows_ = elements(output, 0, axis_);
    row_ = elements(output, axis_, output.rank) * element_bytes_;
    inputs_.assign(inputs.size(), {});
    for (size_t i = 0; i < inputs.size(); ++i)
      inputs_[i].row = elements(inputs[i], axis_, inputs[i].rank) * element_bytes_;
    return {};
  }

  Status setup(std::span<const void* const> inputs, void* output, void*) override {
    for (size_t i = 0; i < inputs.size(); ++i) inputs_[i].data = static_cast<const std::byte*>(inputs[i]);
    output_ = static_cast<std::byte*>(output);
    return {};
  }

  Status run(Pool* pool) override {
    if (rows_ == 1) {
      copy_long(pool);
      return {};
    }
    parallel_rows(pool, rows_, row_ / element_bytes_, [&](size_t begin, size_t end) {
      std::byte* to = output_ + begin * row_;
      for (size_t i = begin; i < end; ++i) {
        for (const ConcatInput& input : inputs_) {
          copy_row(to, input.data + i * input.row, input.row);
          to += input.row;
        }
      }
    });
    return {};
  }

 private:
  struct ConcatInput {
    const std::byte* data = nullptr;
    size_t row = 0;
  };

  void copy_long(Pool* pool) {
    std::byte* to = output_;
    for (const ConcatInput& input : inputs_) {
      parallel_for(pool, input.row, kGrain * element_bytes_,
                   [&](size_t begin, size_t end) { std::memcpy(to + begin, input.data + begin, end - begin); });
      to += input.row;
    }
  }

  int axis_;
  size_t element_bytes_;
  size_t rows_ = 0, row_ = 0;  // rows; row sizes in bytes, here and above
  std::vector<ConcatInput> inputs_;
  std::byte* output_ = nullptr;
};

}  // namespace

Status create_concat(const CpuFeatures&, const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  *out = std::make_unique<Concat>(op.params_as_Concat()->axis(), element_bytes(model, op));
  return {};
}

Status create_float16_concat(const CpuFeatures&, const Model&, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  *out = std::make_unique<Concat>(op.params_as_Concat()->axis(), sizeof(Float16));
  return {};
}

}  // namespace ferry::cpu
