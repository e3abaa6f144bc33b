#include <algorithm>

#include "sdk/cpu/backend/lowerings.h"
#include "sdk/cpu/backend/parallel.h"
#include "sdk/cpu/elementwise/float16.h"
#include "sdk/cpu/gemm/products.h"
#include "sdk/cpu/ops/move.h"
#include "sdk/cpu/ops/rows.h"
#include "sdk/cpu/xnnpack/operator.h"
#include "sdk/operators/built_in.h"

namespace ferry::cpu {
namespace {

// A task's tile: some cache lines of the input's rows, and enough rows to make the task worthwhile.
constexpr size_t kLineBytes = 64, kTall = 256;

// Transposes matrices whose rows have `wide_` elements; or copies rows, if the innermost dimension stays.
class Transpose : public MoveOp {
 public:
  Transpose(const fbs::Transpose& params, size_t element_bytes) : MoveOp(element_bytes), params_(params) {}

  Status reshape(std::span<const Shape> inputs, const Shape& output, Pool*, uint64_t* workspace) override {
    *workspace = 0;
    const Shape& x = inputs[0];
    // The output's dimensions, merged where they are adjacent in the input, too.
    struct Dimension {
      size_t size, from, to;  // and strides
    };
    std::array<Dimension, FERRY_MAX_RANK> dims;  // innermost first
    size_t rank = 0, stride = 1;
    for (int i = x.rank; i-- > 0;) {
      const int axis = params_.perm()->Get(static_cast<unsigned>(i));
      const Dimension d{static_cast<size_t>(output[i]), elements(x, axis + 1, x.rank), stride};
      stride *= d.size;
      if (d.size == 1) continue;
      if (rank > 0 && d.from == dims[rank - 1].size * dims[rank - 1].from) {
        dims[rank - 1].size *= d.size;
      } else {
        dims[rank++] = d;
      }
    }
    if (rank == 0) dims[rank++] = {1, 1, 1};
    tall_ = dims[0].size;
    from_stride_ = dims[0].from;
    wide_ = 1;
    from_ = to_ = Rows();
    for (size_t i = rank; i-- > 1;) {
      if (dims[i].from == 1) {
        wide_ = dims[i].size;
        to_stride_ = dims[i].to;
      } else {
        from_.append(dims[i].size, dims[i].from);
        to_.append(dims[i].size, dims[i].to);
      }
    }
    return {};
  }

  Status run(Pool* pool) override {
    if (from_stride_ == 1) {
      parallel_rows(pool, from_.count(), tall_, [&](size_t begin, size_t end) {
        const size_t row = tall_ * element_bytes_;
        for (size_t i = begin; i < end; ++i)
          copy_row(output_ + i * row, input_ + from_.offset(i) * element_bytes_, row);
      });
      return {};
    }
    const size_t width = kLineBytes / element_bytes_, across = (wide_ + width - 1) / width;
    const size_t tiles = (tall_ + kTall - 1) / kTall * across;
    parallel_rows(pool, from_.count() * tiles, std::min(tall_, kTall) * std::min(wide_, width),
                  [&](size_t begin, size_t end) {
                    for (size_t i = begin; i < end; ++i)
                      transpose_tile(i / tiles, i % tiles / across * kTall, i % across * width, width);
                  });
    return {};
  }

 private:
  // Transposes a tile of a matrix.
  void transpose_tile(size_t matrix, size_t row, size_t column, size_t width) const {
    const size_t from = from_.offset(matrix) + row * from_stride_ + column;
    const size_t to = to_.offset(matrix) + column * to_stride_ + row;
    const size_t rows = std::min(kTall, tall_ - row), columns = std::min(width, wide_ - column);
    if (element_bytes_ == sizeof(int8_t)) {
      for (size_t i = 0; i < columns; ++i)
        for (size_t j = 0; j < rows; ++j) output_[to + i * to_stride_ + j] = input_[from + j * from_stride_ + i];
      return;
    }
    if constexpr (built_in(Feature::Float16))
      if (element_bytes_ == sizeof(Float16))
        return transpose(values_as<uint16_t>(input_) + from, from_stride_, rows, columns,
                         values_as<uint16_t>(output_) + to, to_stride_);
    transpose(values_as<float>(input_) + from, from_stride_, rows, columns, values_as<float>(output_) + to, to_stride_);
  }

  const fbs::Transpose& params_;
  size_t tall_ = 1, wide_ = 1, from_stride_ = 1, to_stride_ = 1;
  Rows from_, to_;  // offsets of matrices, or of rows that are copied
};

}  // namespace

Status create_transpose(const CpuFeatures&, const Model& model, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  *out = std::make_unique<Transpose>(*op.params_as_Transpose(), element_bytes(model, op));
  return {};
}

Status create_float16_transpose(const CpuFeatures&, const Model&, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  *out = std::make_unique<Transpose>(*op.params_as_Transpose(), sizeof(Float16));
  return {};
}

}  // namespace ferry::cpu
