#include "sdk/cpu/backend/lowerings.h"
#include "sdk/cpu/backend/parallel.h"
#include "sdk/cpu/elementwise/float16.h"
#include "sdk/cpu/ops/move.h"
#include "sdk/cpu/ops/rows.h"
#include "sdk/cpu/xnnpack/operator.h"
#include "sdk/operators/size_code.h"

namespace ferry::cpu {
namespace {

class Slice : public MoveOp {
 public:
  Slice(const fbs::Slice& params, size_t element_bytes) : MoveOp(element_bytes), params_(params) {}

  Status reshape(std::span<const Shape> inputs, const Shape& output, Pool*, uint64_t* workspace) override {
    *workspace = 0;
    const Shape& x = inputs[0];
    // A row covers the inner dimensions that stay whole and the next outer one.
    int inner = x.rank;
    while (inner > 0 && x[inner - 1] == output[inner - 1]) --inner;
    const int row_begin = std::max(inner - 1, 0);
    row_ = elements(output, row_begin, output.rank) * element_bytes_;
    rows_ = Rows();
    first_ = 0;
    for (int i = 0; i < x.rank; ++i) {
      const size_t stride = elements(x, i + 1, x.rank) * element_bytes_;
      first_ += static_cast<size_t>(slice_begin(params_, i, x, output[i])) * stride;
      if (i < row_begin) rows_.append(static_cast<size_t>(output[i]), stride);
    }
    return {};
  }

  Status run(Pool* pool) override {
    parallel_rows(pool, rows_.count(), row_ / element_bytes_, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) copy_row(output_ + i * row_, input_ + first_ + rows_.offset(i), row_);
    });
    return {};
  }

 private:
  const fbs::Slice& params_;
  size_t row_ = 0, first_ = 0;  // in bytes, like the strides of rows_
  Rows rows_;
};

}  // namespace

Status create_slice(const CpuFeatures&, const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  *out = std::make_unique<Slice>(*op.params_as_Slice(), element_bytes(model, op));
  return {};
}

Status create_float16_slice(const CpuFeatures&, const Model&, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  *out = std::make_unique<Slice>(*op.params_as_Slice(), sizeof(Float16));
  return {};
}

}  // namespace ferry::cpu
