// Products of two activations. A task computes some rows of the output, one panel of columns at a time; the panel is
// packed if that pays.
#include <algorithm>
#include <array>
#include <utility>

#include "sdk/cpu/backend/lowerings.h"
#include "sdk/cpu/backend/parallel.h"
#include "sdk/cpu/gemm/products.h"
#include "sdk/cpu/ops/rows.h"
#include "sdk/cpu/xnnpack/operator.h"

namespace ferry::cpu {
namespace {

constexpr size_t kFewRows = 8;           // maximum rows to read b in place
constexpr size_t kRows = kRowsAtOnce;    // rows multiplied with a panel at a time
constexpr size_t kTaskRows = 4 * kRows;  // rows for which a panel is packed once
constexpr size_t kDepth = 256;           // KC: inputs of a packed panel, which stays in the L2 cache
constexpr size_t kTaskWork = 1 << 17;    // multiplications per task

size_t pieces(size_t count, size_t of) { return (count + of - 1) / of; }

struct Matrix {
  bool transposed = false;
  size_t stride = 0;  // elements from a row to the next; if transposed, from a column
  Rows places;        // offsets of each product's matrix
  const float* data = nullptr;

  const float* at(size_t product, size_t row, size_t column) const {
    return data + places.offset(product) + (transposed ? column * stride + row : row * stride + column);
  }
};

class MatMul : public Op {
 public:
  MatMul(const CpuFeatures& cpu, const fbs::MatMul& params) : params_(params), multiply_(widest_multiply(cpu)) {
    ones_.fill(1.0f);
  }

  [[gnu::cold]] Status reshape(std::span<const Shape> inputs, const Shape& output, Pool* pool,
                               uint64_t* workspace) override {
    for (size_t i = 0; i < 2; ++i) {
      const Shape& x = inputs[i];
      Matrix& m = matrices_[i];
      m = {i == 0 ? params_.transpose_a() : params_.transpose_b(), static_cast<size_t>(x[x.rank - 1]), {}, nullptr};
      for (int d = 0; d < output.rank - 2; ++d) {
        const int own = d - (output.rank - x.rank);
        const bool repeats = own < 0 || x[own] == 1;
        m.places.append(static_cast<size_t>(output[d]), repeats ? 0 : elements(x, own + 1, x.rank));
      }
    }
    products_ = elements(output, 0, output.rank - 2);
    rows_ = static_cast<size_t>(output[output.rank - 2]);
    columns_ = static_cast<size_t>(output[output.rank - 1]);
    depth_ = static_cast<size_t>(inputs[0][inputs[0].rank - (params_.transpose_a() ? 2 : 1)]);
    swapped_ = columns_ == 1;  // an output of one column is computed as a row of its transpose
    auto& [a, b] = matrices_;
    if (swapped_) {
      std::swap(rows_, columns_);
      std::swap(a, b);
      a.transposed = !a.transposed;
      b.transposed = !b.transposed;
    }
    // A vector has the same layout transposed.
    if (rows_ == 1 || depth_ == 1) a.stride = a.transposed ? 1 : a.stride, a.transposed = false;
    if (depth_ == 1) b.transposed = false;
    // One b for all products: their rows of a form one matrix.
    if (!a.transposed && elements(inputs[swapped_ ? 0 : 1]) == depth_ * columns_) {
      rows_ *= std::exchange(products_, 1);
      a.stride = depth_;
    }
    const bool few = rows_ <= kFewRows;
    in_place_ = few && b.transposed && !a.transposed;
    packed_ = !in_place_ && (b.transposed || !few);
    *workspace = in_place_ ? 0 : uint64_t{sizeof(float)} * pool->threads() * scratch_size();
    return {};
  }

  [[gnu::cold]] Status setup(std::span<const void* const> inputs, void* output, void* workspace) override {
    for (size_t i = 0; i < 2; ++i) matrices_[i].data = floats(inputs[swapped_ ? 1 - i : i]);
    output_ = floats(output);
    scratch_ = floats(workspace);
    return {};
  }

  Status run(Pool* pool) override {
    const size_t parts = pieces(rows_, kTaskRows), panels = pieces(columns_, kPanel);
    const size_t work = std::min(rows_, kTaskRows) * std::min(columns_, kPanel) * depth_;
    const Grid<1, 1> grid{{products_ * parts * panels}, {std::max<size_t>(kTaskWork / work, 1)}};
    parallel(pool, grid, [&](Pool::Share& share, size_t begin, size_t count) {
      for (size_t i = begin; i < begin + count; ++i)
        multiply(share.thread(), i / (parts * panels), i / panels % parts * kTaskRows, i % panels * kPanel);
    });
    return {};
  }

 private:
  size_t scratch_size() const { return kDepth * (kPanel + (matrices_[0].transposed ? kRows : 0)); }

  // Computes output rows from `first` and columns from `column`.
  void multiply(size_t thread, size_t product, size_t first, size_t column) const {
    const auto& [a, b] = matrices_;
    const size_t end = std::min(first + kTaskRows, rows_), width = std::min(kPanel, columns_ - column);
    float* y = output_ + product * rows_ * columns_ + column;
    if (in_place_) {
      for (size_t i = first; i < end; ++i)
        multiply_rows(a.at(product, i, 0), b.at(product, 0, column), b.stride, depth_, width, 1.0f, y + i * columns_);
      return;
    }
    float *panel = scratch_ + thread * scratch_size(), *turned = panel + kDepth * kPanel;
    for (size_t k = 0; k < depth_; k += kDepth) {
      const size_t depth = std::min(kDepth, depth_ - k);
      const float* from = b.at(product, k, column);
      if (b.transposed) {
        transpose(from, b.stride, width, depth, panel, kPanel);
      } else if (packed_) {
        for (size_t i = 0; i < depth; ++i) std::copy_n(from + i * b.stride, width, panel + i * kPanel);
      }
      for (size_t row = first; row < end; row += kRows) {
        const size_t count = std::min(kRows, end - row);
        const float* lines = a.at(product, row, k);
        if (a.transposed) transpose(lines, a.stride, depth, count, turned, kDepth);
        const float* rows[kRows];
        for (size_t i = 0; i < kRows; ++i)  // repeats the last row
          rows[i] = (a.transposed ? turned : lines) + std::min(i, count - 1) * (a.transposed ? kDepth : a.stride);
        multiply_({rows, packed_ ? panel : from, packed_ ? kPanel : b.stride, depth, (k == 0 ? zeros_ : ones_).data(),
                   ones_.data(), y + row * columns_, columns_, width, count});
      }
    }
  }

  const fbs::MatMul& params_;
  const Multiply multiply_;
  std::array<float, kRows> zeros_{}, ones_;
  std::array<Matrix, 2> matrices_;
  size_t products_ = 0, rows_ = 0, columns_ = 0, depth_ = 0;
  bool swapped_ = false;   // a is the operator's b, transposed
  bool in_place_ = false;  // dot products of rows of a and rows of b
  bool packed_ = false;    // b is packed into panels
  float *output_ = nullptr, *scratch_ = nullptr;
};

}  // namespace

Status create_matmul(const CpuFeatures& cpu, const Model&, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  *out = std::make_unique<MatMul>(cpu, *op.params_as_MatMul());
  return {};
}

}  // namespace ferry::cpu
