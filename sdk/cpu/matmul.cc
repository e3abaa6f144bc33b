#include "sdk/cpu/lowerings.h"
#include "sdk/cpu/parallel.h"
#include "sdk/cpu/rows.h"
#include "sdk/cpu/xnn.h"

namespace ferry::cpu {
namespace {

class MatMul : public Op {
 public:
  explicit MatMul(const fbs::MatMul& params) : params_(params) {}

  [[gnu::cold]] Status reshape(std::span<const Shape> inputs, const Shape& output, Pool*, size_t* workspace) override {
    *workspace = 0;
    const Shape& a = inputs[0];
    depth_ = static_cast<size_t>(a[a.rank - (params_.transpose_a() ? 2 : 1)]);
    rows_ = static_cast<size_t>(output[output.rank - 2]);
    columns_ = static_cast<size_t>(output[output.rank - 1]);
    for (size_t i = 0; i < 2; ++i) {
      const Shape& x = inputs[i];
      matrices_[i] = Rows();
      for (int d = 0; d < output.rank - 2; ++d) {
        const int own = d - (output.rank - x.rank);
        const bool repeats = own < 0 || x[own] == 1;
        matrices_[i].append(static_cast<size_t>(output[d]), repeats ? 0 : elements(x, own + 1, x.rank));
      }
    }
    return {};
  }

  [[gnu::cold]] Status setup(std::span<const void* const> inputs, void* output, void*) override {
    for (size_t i = 0; i < 2; ++i) inputs_[i] = floats(inputs[i]);
    output_ = floats(output);
    return {};
  }

  Status run(Pool* pool) override {
    const size_t step_a = params_.transpose_a() ? rows_ : 1, row_a = params_.transpose_a() ? 1 : depth_;
    const size_t step_b = params_.transpose_b() ? 1 : columns_, column_b = params_.transpose_b() ? depth_ : 1;
    parallel_rows(pool, matrices_[0].count() * rows_, columns_ * depth_, [&](size_t begin, size_t end) {
      for (size_t row = begin; row < end; ++row) {
        const float* a = inputs_[0] + matrices_[0].offset(row / rows_) + row % rows_ * row_a;
        const float* b = inputs_[1] + matrices_[1].offset(row / rows_);
        float* y = output_ + row * columns_;
        std::fill_n(y, columns_, 0.f);
        for (size_t k = 0; k < depth_; ++k)
          for (size_t n = 0; n < columns_; ++n) y[n] += a[k * step_a] * b[k * step_b + n * column_b];
      }
    });
    return {};
  }

 private:
  const fbs::MatMul& params_;
  size_t rows_ = 0, columns_ = 0, depth_ = 0;
  std::array<Rows, 2> matrices_;
  std::array<const float*, 2> inputs_{};
  float* output_ = nullptr;
};

}  // namespace

Status create_matmul(const CpuFeatures&, const Model&, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  *out = std::make_unique<MatMul>(*op.params_as_MatMul());
  return {};
}

}  // namespace ferry::cpu
