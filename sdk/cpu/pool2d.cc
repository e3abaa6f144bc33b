#include <algorithm>

#include "sdk/cpu/lowerings.h"
#include "sdk/cpu/parallel.h"
#include "sdk/cpu/xnn.h"

namespace ferry::cpu {
namespace {

// out = (acc op cell 0 op ... cell N-1) * scale, for one pixel's channels; max ignores scale. out may be acc.
// XNNPACK's pooling would do for some windows, but not for partial ones that count their padding, and it keeps a table
// of pointers for all windows.
template <bool kMax, int N>
FERRY_KERNEL void fold(const float* acc, const float* cells, size_t channels, float scale, float* out) {
  FERRY_INDEPENDENT
  for (size_t c = 0; c < channels; ++c) {
    float value = acc[c];
    for (int i = 0; i < N; ++i) {
      const float cell = cells[static_cast<size_t>(i) * channels + c];
      value = kMax ? (cell > value ? cell : value) : value + cell;
    }
    out[c] = kMax ? value : value * scale;
  }
}

template <bool kMax>
void fold(size_t n, const float* acc, const float* cells, size_t channels, float scale, float* out) {
  switch (n) {
    case 0: return fold<kMax, 0>(acc, cells, channels, scale, out);
    case 1: return fold<kMax, 1>(acc, cells, channels, scale, out);
    case 2: return fold<kMax, 2>(acc, cells, channels, scale, out);
    default: return fold<kMax, 3>(acc, cells, channels, scale, out);
  }
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
    parallel_rows(pool, elements(output_shape_, 0, 3), elements(output_shape_, 3, 4) * window,
                  [&](size_t begin, size_t end) {
                    if (params_.kind() == fbs::PoolKind::Max) {
                      for (size_t i = begin; i < end; ++i) pixel<true>(static_cast<int64_t>(i));
                    } else {
                      for (size_t i = begin; i < end; ++i) pixel<false>(static_cast<int64_t>(i));
                    }
                  });
    return {};
  }

 private:
  template <bool kMax>
  void pixel(int64_t index) {
    const int64_t out_h = output_shape_[1], out_w = output_shape_[2];
    const int64_t height = input_shape_[1], width = input_shape_[2], channels = input_shape_[3];
    const Range y = range(index / out_w % out_h, params_.stride_h(), params_.kernel_h(), params_.pad_top(), height,
                          params_.pad_bottom());
    const Range x =
        range(index % out_w, params_.stride_w(), params_.kernel_w(), params_.pad_left(), width, params_.pad_right());
    const int64_t count = params_.count_include_pad() ? y.counted * x.counted : (y.end - y.begin) * (x.end - x.begin);
    const float scale = 1.0f / static_cast<float>(count);

    float* out = output_ + index * channels;
    const float* image = input_ + index / (out_w * out_h) * height * width * channels;
    const float* acc = nullptr;
    for (int64_t row = y.begin; row < y.end; ++row) {
      const float* cells = image + (row * width + x.begin) * channels;
      int64_t left = x.end - x.begin;
      while (left > 0) {
        if (acc == nullptr) {  // begins with the window's first cell
          acc = cells;
          cells += channels;
          --left;
        }
        const int64_t n = std::min<int64_t>(left, 3);
        left -= n;
        const bool last = left == 0 && row + 1 == y.end;
        fold<kMax>(static_cast<size_t>(n), acc, cells, static_cast<size_t>(channels), last ? scale : 1.0f, out);
        cells += n * channels;
        acc = out;
      }
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
