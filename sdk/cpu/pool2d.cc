#include <algorithm>

#include "sdk/cpu/lowerings.h"
#include "sdk/cpu/parallel.h"
#include "sdk/cpu/xnn.h"

namespace ferry::cpu {
namespace {

// A window's cells inside the input.
struct Window {
  const float* cells;
  size_t rows, columns;  // at least one each
  size_t row, channels;  // numbers from row to row, and from column to column
  float scale;           // of a sum
};

// kCount channels from `c` on, kept in registers. XNNPACK's pooling would do for some windows, but not for partial ones that
// count their padding, and it keeps a table of pointers for all windows.
template <bool kMax, size_t kCount>
[[gnu::always_inline]] inline void fold(const Window& w, size_t c, float* out) {
  float values[kCount];
  for (size_t k = 0; k < kCount; ++k) values[k] = kMax ? w.cells[c + k] : 0.0f;
  const float* row = w.cells + c;
  for (size_t i = w.rows; i > 0; --i, row += w.row) {
    const float* cell = row;
    for (size_t j = w.columns; j > 0; --j, cell += w.channels) {
      for (size_t k = 0; k < kCount; ++k)
        values[k] = kMax ? (cell[k] > values[k] ? cell[k] : values[k]) : values[k] + cell[k];
    }
  }
  for (size_t k = 0; k < kCount; ++k) out[c + k] = kMax ? values[k] : values[k] * w.scale;
}

template <bool kMax>
FERRY_KERNEL void fold(const Window& window, float* out) {
  size_t c = 0;
  for (; c + 32 <= window.channels; c += 32) fold<kMax, 32>(window, c, out);
  for (; c + 8 <= window.channels; c += 8) fold<kMax, 8>(window, c, out);
  for (; c < window.channels; ++c) fold<kMax, 1>(window, c, out);
}

// The window's cells inside the input, of one side.
struct Range {
  int64_t begin, end;  // real cells
  int64_t counted;     // cells that count in an average with padding
};

Range range(int64_t output, int64_t stride, int64_t kernel, int64_t before, int64_t size, int64_t after) {
  const int64_t start = output * stride - before;
  return {std::max<int64_t>(start, 0), std::min(start + kernel, size), std::min(start + kernel, size + after) - start};
}

class Pool2d : public Op {
 public:
  explicit Pool2d(const fbs::Pool2d& params) : params_(params) {}

  Status reshape(std::span<const Shape> inputs, const Shape& output, pthreadpool_t, size_t* workspace) override {
    *workspace = 0;
    input_shape_ = inputs[0];
    output_shape_ = output;
    return {};
  }

  Status setup(std::span<const void* const> inputs, void* output, void*) override {
    input_ = floats(inputs[0]);
    output_ = floats(output);
    return {};
  }

  Status run(pthreadpool_t pool) override {
    const auto window =
        static_cast<size_t>(std::min<int64_t>(int64_t{params_.kernel_h()} * params_.kernel_w(), kGrain));
    parallel_rows(pool, elements(output_shape_, 0, 2), elements(output_shape_, 2, 4) * window,
                  [&](size_t begin, size_t end) {
                    for (size_t i = begin; i < end; ++i)
                      params_.kind() == fbs::PoolKind::Max ? pool_row<true>(i) : pool_row<false>(i);
                  });
    return {};
  }

 private:
  // Of the output.
  template <bool kMax>
  void pool_row(size_t index) const {
    const int64_t out_h = output_shape_[1], out_w = output_shape_[2];
    const int64_t height = input_shape_[1], width = input_shape_[2], channels = input_shape_[3];
    const int64_t row = static_cast<int64_t>(index);
    const Range y =
        range(row % out_h, params_.stride_h(), params_.kernel_h(), params_.pad_top(), height, params_.pad_bottom());
    const float* from = input_ + (row / out_h * height + y.begin) * width * channels;
    float* out = output_ + row * out_w * channels;
    for (int64_t i = 0; i < out_w; ++i, out += channels) {
      const Range x = range(i, params_.stride_w(), params_.kernel_w(), params_.pad_left(), width, params_.pad_right());
      const int64_t count = params_.count_include_pad() ? y.counted * x.counted : (y.end - y.begin) * (x.end - x.begin);
      fold<kMax>({.cells = from + x.begin * channels,
                  .rows = static_cast<size_t>(y.end - y.begin),
                  .columns = static_cast<size_t>(x.end - x.begin),
                  .row = static_cast<size_t>(width * channels),
                  .channels = static_cast<size_t>(channels),
                  .scale = 1.0f / static_cast<float>(count)},
                 out);
    }
  }

  const fbs::Pool2d& params_;
  Shape input_shape_, output_shape_;
  const float* input_ = nullptr;
  float* output_ = nullptr;
};

}  // namespace

Status create_pool2d(const Model&, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  *out = std::make_unique<Pool2d>(*op.params_as_Pool2d());
  return {};
}

}  // namespace ferry::cpu
