#include <array>
#include <cstdint>

#include "sdk/cpu/backend/lowerings.h"
#include "sdk/cpu/backend/parallel.h"
#include "sdk/cpu/ops/rows.h"
#include "sdk/cpu/xnnpack/operator.h"

namespace ferry::cpu {
namespace {

class Select : public Op {
 public:
  Status reshape(std::span<const Shape> inputs, const Shape& output, Pool*, uint64_t* workspace) override {
    *workspace = 0;
    row_ = output.rank > 0 ? static_cast<size_t>(output[output.rank - 1]) : 1;
    for (size_t s = 0; s < sides_.size(); ++s) {
      Side& side = sides_[s];
      const Shape& shape = inputs[s];
      side.rows = Rows();
      side.step = shape.rank > 0 && shape[shape.rank - 1] > 1 ? 1 : 0;
      for (int i = 0; i + 1 < output.rank; ++i) {
        const int own = i - (output.rank - shape.rank);
        const bool repeats = own < 0 || shape[own] == 1;
        side.rows.append(static_cast<size_t>(output[i]), repeats ? 0 : elements(shape, own + 1, shape.rank));
      }
    }
    return {};
  }

  Status setup(std::span<const void* const> inputs, void* output, void*) override {
    for (size_t s = 0; s < sides_.size(); ++s) sides_[s].data = static_cast<const int32_t*>(inputs[s]);
    output_ = static_cast<int32_t*>(output);
    return {};
  }

  Status run(Pool* pool) override {
    parallel_rows(pool, sides_[0].rows.count(), row_, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) row(i);
    });
    return {};
  }

 private:
  struct Side {
    Rows rows;
    size_t step = 0;  // within a row: 1, or 0 for a broadcast element
    const int32_t* data = nullptr;
  };

  void row(size_t index) {
    const auto& [condition, a, b] = sides_;
    const int32_t* c = condition.data + condition.rows.offset(index);
    const int32_t* x = a.data + a.rows.offset(index);
    const int32_t* y = b.data + b.rows.offset(index);
    int32_t* to = output_ + index * row_;
    for (size_t i = 0; i < row_; ++i) to[i] = c[i * condition.step] != 0 ? x[i * a.step] : y[i * b.step];
  }

  size_t row_ = 1;
  std::array<Side, 3> sides_;  // condition, a, b: elements of four bytes
  int32_t* output_ = nullptr;
};

}  // namespace

Status create_select(const CpuFeatures&, const Model&, const fbs::Operator&, std::unique_ptr<Op>* out) {
  *out = std::make_unique<Select>();
  return {};
}

}  // namespace ferry::cpu
