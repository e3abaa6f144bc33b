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

FERRY_KERNEL void blend2(const float* row, const Taps& x, size_t channels, float weight, float* out) {
  const float *left = row + x.cells[0] * channels, *right = row + x.cells[1] * channels;
  const float l = x.weights[0] * weight, r = x.weights[1] * weight;
  for (size_t c = 0; c < channels; ++c) out[c] += left[c] * l + right[c] * r;
}

FERRY_KERNEL void blend4(const float* row, const Taps& x, size_t channels, float weight, float* out) {
  const float *a = row + x.cells[0] * channels, *b = row + x.cells[1] * channels;
  const float *c = row + x.cells[2] * channels, *d = row + x.cells[3] * channels;
  const float wa = x.weights[0] * weight, wb = x.weights[1] * weight;
  const float wc = x.weights[2] * weight, wd = x.weights[3] * weight;
  for (size_t i = 0; i < channels; ++i) out[i] += (a[i] * wa + b[i] * wb) + (c[i] * wc + d[i] * wd);
}

class Resize2d : public Op {
 public:
  explicit Resize2d(const fbs::Resize2d& params) : params_(params) {}

  Status reshape(std::span<const Shape> inputs, const Shape& output, pthreadpool_t, size_t* workspace) override {
    *workspace = 0;
    const Shape& x = inputs[0];
    rows_.clear();
    columns_.clear();
    for (int32_t i = 0; i < output[1]; ++i) rows_.push_back(taps(params_, i, x[1], output[1]));
    for (int32_t i = 0; i < output[2]; ++i) columns_.push_back(taps(params_, i, x[2], output[2]));
    batch_ = static_cast<size_t>(x[0]);
    height_ = static_cast<size_t>(x[1]);
    channels_ = static_cast<size_t>(x[3]);
    stride_ = static_cast<size_t>(x[2]) * channels_;
    return {};
  }

  Status setup(std::span<const void* const> inputs, void* output, void*) override {
    input_ = floats(inputs[0]);
    output_ = floats(output);
    return {};
  }

  Status run(pthreadpool_t pool) override {
    const size_t row = columns_.size() * channels_;
    parallel_rows(pool, batch_ * rows_.size(), row, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        const float* picture = input_ + i / rows_.size() * height_ * stride_;
        resize_row(picture, rows_[i % rows_.size()], output_ + i * row);
      }
    });
    return {};
  }

 private:
  void resize_row(const float* picture, const Taps& y, float* out) const {
    if (params_.kind() == fbs::ResizeKind::Nearest) {
      for (const Taps& x : columns_) {
        std::memcpy(out, picture + y.cells[0] * stride_ + x.cells[0] * channels_, channels_ * sizeof(float));
        out += channels_;
      }
      return;
    }
    const bool bilinear = params_.kind() == fbs::ResizeKind::Bilinear;
    for (const Taps& x : columns_) {
      std::fill_n(out, channels_, 0.0f);
      for (size_t k = 0; k < (bilinear ? 2 : kMostTaps); ++k)
        (bilinear ? blend2 : blend4)(picture + y.cells[k] * stride_, x, channels_, y.weights[k], out);
      out += channels_;
    }
  }

  const fbs::Resize2d& params_;
  std::vector<Taps> rows_, columns_;
  size_t batch_ = 0, height_ = 0, channels_ = 0, stride_ = 0;
  const float* input_ = nullptr;
  float* output_ = nullptr;
};

}  // namespace

Status create_resize2d(const Model&, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  *out = std::make_unique<Resize2d>(*op.params_as_Resize2d());
  return {};
}

}  // namespace ferry::cpu
