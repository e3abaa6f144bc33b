#include <algorithm>
#include <cstring>

#include "sdk/cpu/lowerings.h"
#include "sdk/cpu/parallel.h"
#include "sdk/cpu/xnn.h"

namespace ferry::cpu {
namespace {

// Between two input cells: (1 - weight) * first + weight * second.
struct Sample {
  size_t first, second;
  float weight;
};

// The centre of output cell `index` on the input's axis, edges clamped.
Sample sample(size_t index, size_t scale, size_t size) {
  // ((2 * index + 1) - scale) / (2 * scale), in whole numbers until the last step: exact for every size.
  const int64_t numerator = 2 * static_cast<int64_t>(index) + 1 - static_cast<int64_t>(scale);
  const int64_t denominator = 2 * static_cast<int64_t>(scale);
  if (numerator <= 0) return {0, 0, 0.0f};
  const size_t first = static_cast<size_t>(numerator / denominator);
  if (first + 1 >= size) return {size - 1, size - 1, 0.0f};
  return {first, first + 1, static_cast<float>(numerator % denominator) / static_cast<float>(denominator)};
}

FERRY_KERNEL void blend(const float* top_left, const float* top_right, const float* bottom_left,
                        const float* bottom_right, float x, float y, size_t channels, float* out) {
  FERRY_INDEPENDENT
  for (size_t c = 0; c < channels; ++c) {
    const float top = top_left[c] + (top_right[c] - top_left[c]) * x;
    const float bottom = bottom_left[c] + (bottom_right[c] - bottom_left[c]) * x;
    out[c] = top + (bottom - top) * y;
  }
}

class Resize2d : public Op {
 public:
  explicit Resize2d(const fbs::Resize2d& params)
      : kind_(params.kind()),
        scale_h_(static_cast<size_t>(params.scale_h())),
        scale_w_(static_cast<size_t>(params.scale_w())) {}

  Status reshape(std::span<const Shape> inputs, const Shape&, pthreadpool_t, size_t* workspace) override {
    *workspace = 0;
    batch_ = static_cast<size_t>(inputs[0][0]);
    height_ = static_cast<size_t>(inputs[0][1]);
    width_ = static_cast<size_t>(inputs[0][2]);
    channels_ = static_cast<size_t>(inputs[0][3]);
    return {};
  }

  Status setup(std::span<const void* const> inputs, void* output, void*) override {
    input_ = floats(inputs[0]);
    output_ = floats(output);
    return {};
  }

  Status run(pthreadpool_t pool) override {
    const size_t row = width_ * scale_w_ * channels_;
    parallel_rows(pool, batch_ * height_ * scale_h_, row, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        if (kind_ == fbs::ResizeKind::Nearest) {
          nearest(input_ + i / scale_h_ * width_ * channels_, output_ + i * row);
        } else {
          bilinear(i, output_ + i * row);
        }
      }
    });
    return {};
  }

 private:
  void nearest(const float* from, float* to) const {
    for (size_t x = 0; x < width_; ++x, from += channels_) {
      for (size_t k = 0; k < scale_w_; ++k, to += channels_) std::memcpy(to, from, channels_ * sizeof(float));
    }
  }

  void bilinear(size_t row, float* to) const {
    const size_t rows = height_ * scale_h_;
    const Sample y = sample(row % rows, scale_h_, height_);
    const float* top = input_ + (row / rows * height_ + y.first) * width_ * channels_;
    const float* bottom = input_ + (row / rows * height_ + y.second) * width_ * channels_;
    for (size_t i = 0; i < width_ * scale_w_; ++i, to += channels_) {
      const Sample x = sample(i, scale_w_, width_);
      const size_t left = x.first * channels_, right = x.second * channels_;
      blend(top + left, top + right, bottom + left, bottom + right, x.weight, y.weight, channels_, to);
    }
  }

  fbs::ResizeKind kind_;
  size_t scale_h_, scale_w_;
  size_t batch_ = 0, height_ = 0, width_ = 0, channels_ = 0;
  const float* input_ = nullptr;
  float* output_ = nullptr;
};

}  // namespace

Status create_resize2d(const Model&, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  *out = std::make_unique<Resize2d>(*op.params_as_Resize2d());
  return {};
}

}  // namespace ferry::cpu
