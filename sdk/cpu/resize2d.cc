#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "sdk/cpu/lowerings.h"
#include "sdk/cpu/parallel.h"
#include "sdk/cpu/xnn.h"

namespace ferry::cpu {
namespace {

constexpr size_t kMostTaps = 4;

// The cells along one side that an output cell is made of, and their weights.
struct Taps {
  std::array<size_t, kMostTaps> cells;
  std::array<float, kMostTaps> weights;
};

// Keys 1981, a = -0.75: the weight of a cell at `distance`, below 2.
double cubic(double distance) {
  constexpr double a = -0.75;
  const double d = std::fabs(distance);
  return d <= 1 ? ((a + 2) * d - (a + 3)) * d * d + 1 : ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
}

// Of output cell `index` of `to`, from an axis of `from` cells. The centre is a fraction of whole numbers, exact for every size.
Taps taps(const fbs::Resize2d& p, int64_t index, int64_t from, int64_t to) {
  if (p.kind() == fbs::ResizeKind::Nearest) return {{static_cast<size_t>(index * from / to)}, {1.0f}};
  const int64_t denominator = p.align_corners() ? std::max<int64_t>(to - 1, 1) : 2 * to;
  int64_t numerator = p.align_corners() ? index * (from - 1) : (2 * index + 1) * from - to;
  const bool bilinear = p.kind() == fbs::ResizeKind::Bilinear;
  if (bilinear) numerator = std::max<int64_t>(numerator, 0);
  const int64_t first = (numerator + denominator) / denominator - 1;  // numerator > -denominator: rounds down
  const double fraction = static_cast<double>(numerator - first * denominator) / static_cast<double>(denominator);
  Taps out;
  for (int64_t k = 0; k < static_cast<int64_t>(kMostTaps); ++k) {
    const auto place = static_cast<size_t>(k);
    out.cells[place] = static_cast<size_t>(std::clamp<int64_t>(first + k - (bilinear ? 0 : 1), 0, from - 1));
    out.weights[place] = static_cast<float>(bilinear ? (k == 0 ? 1 - fraction : fraction)
                                                     : cubic(fraction - static_cast<double>(k - 1)));
  }
  return out;
}

// out = the sum of kTaps runs of numbers, each times its weight.
template <size_t kTaps>
FERRY_KERNEL void blend(const float* from, size_t stride, const Taps& taps, size_t count, float* out) {
  const float* cells[kTaps];
  float weights[kTaps];
  for (size_t k = 0; k < kTaps; ++k) {
    cells[k] = from + taps.cells[k] * stride;
    weights[k] = taps.weights[k];
  }
  FERRY_INDEPENDENT
  for (size_t i = 0; i < count; ++i) {
    float sum = cells[0][i] * weights[0];
    for (size_t k = 1; k < kTaps; ++k) sum += cells[k][i] * weights[k];
    out[i] = sum;
  }
}

class Resize2d : public Op {
 public:
  explicit Resize2d(const fbs::Resize2d& params) : params_(params) {}

  Status reshape(std::span<const Shape> inputs, const Shape& output, pthreadpool_t pool, size_t* workspace) override {
    const Shape& x = inputs[0];
    rows_.clear();
    columns_.clear();
    for (int32_t i = 0; i < output[1]; ++i) rows_.push_back(taps(params_, i, x[1], output[1]));
    for (int32_t i = 0; i < output[2]; ++i) columns_.push_back(taps(params_, i, x[2], output[2]));
    batch_ = static_cast<size_t>(x[0]);
    height_ = static_cast<size_t>(x[1]);
    channels_ = static_cast<size_t>(x[3]);
    stride_ = static_cast<size_t>(x[2]) * channels_;
    *workspace =
        params_.kind() == fbs::ResizeKind::Nearest ? 0 : pthreadpool_get_threads_count(pool) * stride_ * sizeof(float);
    return {};
  }

  Status setup(std::span<const void* const> inputs, void* output, void* workspace) override {
    input_ = floats(inputs[0]);
    output_ = floats(output);
    lines_ = floats(workspace);
    return {};
  }

  Status run(pthreadpool_t pool) override {
    const auto task = [](void* self, size_t thread, size_t row) {
      const auto* op = static_cast<const Resize2d*>(self);
      op->resize_row(row, op->lines_ + thread * op->stride_);
    };
    pthreadpool_parallelize_1d_with_thread(pool, task, this, batch_ * rows_.size(), PTHREADPOOL_FLAG_DISABLE_DENORMALS);
    return {};
  }

 private:
  // Of the output. `line`: of the input's width, for the rows that it is made of, blended.
  void resize_row(size_t row, float* line) const {
    const float* picture = input_ + row / rows_.size() * height_ * stride_;
    const Taps& y = rows_[row % rows_.size()];
    float* out = output_ + row * columns_.size() * channels_;
    switch (params_.kind()) {
      case fbs::ResizeKind::Nearest:
        for (const Taps& x : columns_) {
          std::memcpy(out, picture + y.cells[0] * stride_ + x.cells[0] * channels_, channels_ * sizeof(float));
          out += channels_;
        }
        return;
      case fbs::ResizeKind::Bilinear: return blend_row<2>(picture, y, line, out);
      case fbs::ResizeKind::Bicubic: return blend_row<4>(picture, y, line, out);
    }
  }

  template <size_t kTaps>
  void blend_row(const float* picture, const Taps& y, float* line, float* out) const {
    blend<kTaps>(picture, stride_, y, stride_, line);
    for (const Taps& x : columns_) {
      blend<kTaps>(line, channels_, x, channels_, out);
      out += channels_;
    }
  }

  const fbs::Resize2d& params_;
  std::vector<Taps> rows_, columns_;
  size_t batch_ = 0, height_ = 0, channels_ = 0, stride_ = 0;
  const float* input_ = nullptr;
  float *output_ = nullptr, *lines_ = nullptr;
};

}  // namespace

Status create_resize2d(const Model&, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  *out = std::make_unique<Resize2d>(*op.params_as_Resize2d());
  return {};
}

}  // namespace ferry::cpu
