#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "sdk/cpu/backend/lowerings.h"
#include "sdk/cpu/backend/parallel.h"
#include "sdk/cpu/elementwise/float16.h"
#include "sdk/cpu/xnnpack/operator.h"
#include "sdk/operators/built_in.h"

namespace ferry::cpu {
namespace {

constexpr size_t kMaxTaps = 4;
constexpr size_t kBandSize = 4096;  // elements

using Weights = std::array<float, kMaxTaps>;

// The input cells of an output cell along one dimension, and their weights.
struct Taps {
  std::array<size_t, kMaxTaps> cells;
  Weights weights;
};

// Keys 1981, a = -0.75: the weight of a cell at `distance` < 2.
double cubic(double distance) {
  constexpr double a = -0.75;
  const double d = std::fabs(distance);
  return d <= 1 ? ((a + 2) * d - (a + 3)) * d * d + 1 : ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
}

// Taps of output cell `index` of `to`, from `from` input cells. The centre is an integer fraction, exact for every
// size.
[[gnu::cold]] Taps taps(const fbs::Resize2d& p, int64_t index, int64_t from, int64_t to) {
  if (p.kind() == fbs::ResizeKind::Nearest) return {{static_cast<size_t>(index * from / to)}, {1.0f}};
  const int64_t denominator = p.align_corners() ? std::max<int64_t>(to - 1, 1) : 2 * to;
  int64_t numerator = p.align_corners() ? index * (from - 1) : (2 * index + 1) * from - to;
  const bool bilinear = p.kind() == fbs::ResizeKind::Bilinear;
  if (bilinear) numerator = std::max<int64_t>(numerator, 0);
  const int64_t first = (numerator + denominator) / denominator - 1;  // numerator > -denominator: rounds down
  const double fraction = static_cast<double>(numerator - first * denominator) / static_cast<double>(denominator);
  Taps out;
  for (int64_t k = 0; k < static_cast<int64_t>(kMaxTaps); ++k) {
    const auto place = static_cast<size_t>(k);
    out.cells[place] = static_cast<size_t>(std::clamp<int64_t>(first + k - (bilinear ? 0 : 1), 0, from - 1));
    out.weights[place] = static_cast<float>(bilinear ? (k == 0 ? 1 - fraction : fraction)
                                                     : cubic(fraction - static_cast<double>(k - 1)));
  }
  return out;
}

[[gnu::cold]] std::vector<Taps> all_taps(const fbs::Resize2d& p, int64_t from, int64_t to) {
  std::vector<Taps> out;
  for (int64_t i = 0; i < to; ++i) out.push_back(taps(p, i, from, to));
  return out;
}

// For each of kOutputs consecutive runs: the weighted sum of four runs.
template <size_t kOutputs>
[[gnu::always_inline]] inline void blend(const std::array<const float*, kMaxTaps>& cells,
                                         const std::array<Weights, kOutputs>& weights, size_t count, float* out) {
  FERRY_INDEPENDENT
  for (size_t i = 0; i < count; ++i) {
    const float a = cells[0][i], b = cells[1][i], c = cells[2][i], d = cells[3][i];
    for (size_t k = 0; k < kOutputs; ++k) {
      const Weights& w = weights[k];
      out[k * count + i] = a * w[0] + b * w[1] + c * w[2] + d * w[3];
    }
  }
}

// Neighbouring output pixels. `stride`: elements per image row.
struct Row {
  const float* image;
  size_t stride, channels;
  Taps taps;
  std::span<const Taps> columns;
  float* out;
};

// Blends each pixel of a row, or two pixels of the same cells, with `cells_of` and `weights_of` of a column.
template <typename Cells, typename WeightsOf>
[[gnu::always_inline]] inline void blend_columns(const Row& row, const Cells& cells_of, const WeightsOf& weights_of) {
  float* out = row.out;
  for (size_t i = 0; i < row.columns.size(); out += row.channels) {
    const Taps& x = row.columns[i++];
    if (i < row.columns.size() && row.columns[i].cells == x.cells) {
      blend<2>(cells_of(x), {weights_of(x), weights_of(row.columns[i++])}, row.channels, out);
      out += row.channels;
    } else {
      blend<1>(cells_of(x), {weights_of(x)}, row.channels, out);
    }
  }
}

// Four cells at once; intermediate sums of two are not worth storing.
FERRY_KERNEL void bilinear(const Row& row) {
  const float *above = row.image + row.taps.cells[0] * row.stride, *below = row.image + row.taps.cells[1] * row.stride;
  const auto cells = [&](const Taps& x) {
    const size_t left = x.cells[0] * row.channels, right = x.cells[1] * row.channels;
    return std::array<const float*, kMaxTaps>{above + left, above + right, below + left, below + right};
  };
  const float up = row.taps.weights[0], down = row.taps.weights[1];
  blend_columns(row, cells, [&](const Taps& x) {
    return Weights{up * x.weights[0], up * x.weights[1], down * x.weights[0], down * x.weights[1]};
  });
}

// `line`: buffer for the blended rows.
FERRY_KERNEL void bicubic(const Row& row, float* line) {
  const auto runs = [](const float* from, size_t stride, const Taps& taps) {
    const auto& [a, b, c, d] = taps.cells;
    return std::array<const float*, kMaxTaps>{from + a * stride, from + b * stride, from + c * stride,
                                              from + d * stride};
  };
  const size_t first = row.columns.front().cells.front() * row.channels;
  const size_t end = (row.columns.back().cells.back() + 1) * row.channels;
  blend<1>(runs(row.image + first, row.stride, row.taps), {row.taps.weights}, end - first, line + first);
  blend_columns(
      row, [&](const Taps& x) { return runs(line, row.channels, x); }, [](const Taps& x) { return x.weights; });
}

class Resize2d : public Op {
 public:
  Resize2d(const fbs::Resize2d& params, bool float16) : params_(params), float16_(float16) {}

  [[gnu::cold]] Status reshape(std::span<const Shape> inputs, const Shape& output, Pool* pool,
                               uint64_t* workspace) override {
    const Shape& x = inputs[0];
    rows_ = all_taps(params_, x[1], output[1]);
    columns_ = all_taps(params_, x[2], output[2]);
    batch_ = static_cast<size_t>(x[0]);
    height_ = static_cast<size_t>(x[1]);
    channels_ = static_cast<size_t>(x[3]);
    stride_ = static_cast<size_t>(x[2]) * channels_;
    band_ = std::max<size_t>(kBandSize / channels_, 8);  // rows that several output rows read stay in the L1 cache
    // float16: also the converted rows to blend, and the band's results.
    const uint64_t line = params_.kind() == fbs::ResizeKind::Bicubic ? stride_ : 0;
    const bool widens = float16_ && params_.kind() != fbs::ResizeKind::Nearest;
    share_ = line + (widens ? rows_at_once() * uint64_t{stride_} + std::min(band_, columns_.size()) * channels_ : 0);
    *workspace = sizeof(float) * pool->threads() * share_;
    return {};
  }

  [[gnu::cold]] Status setup(std::span<const void* const> inputs, void* output, void* workspace) override {
    input_ = inputs[0];
    output_ = output;
    lines_ = floats(workspace);
    return {};
  }

  Status run(Pool* pool) override {
    const size_t bands = (columns_.size() + band_ - 1) / band_;
    parallel(pool, Grid<2, 0>{{bands, batch_ * rows_.size()}}, [&](Pool::Share& share, size_t band, size_t row) {
      resize_band(row, band * band_, lines_ + share.thread() * share_);
    });
    return {};
  }

 private:
  // Input rows that are blended.
  size_t rows_at_once() const { return params_.kind() == fbs::ResizeKind::Bicubic ? kMaxTaps : 2; }

  // Computes a band of output row `index`, from column `first`.
  void resize_band(size_t index, size_t first, float* line) const {
    const size_t image = index / rows_.size() * height_ * stride_, to = (index * columns_.size() + first) * channels_;
    const Taps& taps = rows_[index % rows_.size()];
    const auto columns = std::span(columns_).subspan(first, std::min(band_, columns_.size() - first));
    if (params_.kind() == fbs::ResizeKind::Nearest) return nearest(image + taps.cells[0] * stride_, columns, to);
    if constexpr (built_in(Feature::Float16))
      if (float16_) return blend_float16s(image, taps, columns, to, line);
    blend_row({floats(input_) + image, stride_, channels_, taps, columns, floats(output_) + to}, line);
  }

  // Copies pixels of the input row that begins at `from`.
  void nearest(size_t from, std::span<const Taps> columns, size_t to) const {
    const size_t pixel = channels_ * element_bytes(float16_);
    const auto* row = static_cast<const std::byte*>(input_) + from * element_bytes(float16_);
    auto* out = static_cast<std::byte*>(output_) + to * element_bytes(float16_);
    for (const Taps& x : columns) {
      std::memcpy(out, row + x.cells[0] * pixel, pixel);
      out += pixel;
    }
  }

  void blend_row(const Row& row, float* line) const {
    if (params_.kind() == fbs::ResizeKind::Bilinear) return bilinear(row);
    bicubic(row, line);
  }

  // Converts the columns that the band reads, of each row.
  void blend_float16s(size_t image, const Taps& taps, std::span<const Taps> columns, size_t to, float* line) const {
    const size_t last = rows_at_once() - 1;
    const size_t begin = columns.front().cells.front() * channels_;
    const size_t count = (columns.back().cells[last] + 1) * channels_ - begin;
    float *wide = line + (last + 1 == kMaxTaps ? stride_ : 0), *results = wide + (last + 1) * stride_;
    for (size_t i = 0; i <= last; ++i)
      widen(float16s(input_) + image + taps.cells[i] * stride_ + begin, wide + i * stride_ + begin, count);
    blend_row({wide, stride_, channels_, {{0, 1, 2, 3}, taps.weights}, columns, results}, line);
    narrow(results, float16s(output_) + to, columns.size() * channels_);
  }

  const fbs::Resize2d& params_;
  const bool float16_;
  std::vector<Taps> rows_, columns_;
  size_t batch_ = 0, height_ = 0, channels_ = 0, stride_ = 0, band_ = 1;
  uint64_t share_ = 0;  // workspace elements per thread
  const void* input_ = nullptr;
  void* output_ = nullptr;
  float* lines_ = nullptr;
};

}  // namespace

Status create_resize2d(const CpuFeatures&, const Model&, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  *out = std::make_unique<Resize2d>(*op.params_as_Resize2d(), /*float16=*/false);
  return {};
}

Status create_float16_resize2d(const CpuFeatures&, const Model&, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  *out = std::make_unique<Resize2d>(*op.params_as_Resize2d(), /*float16=*/true);
  return {};
}

}  // namespace ferry::cpu
