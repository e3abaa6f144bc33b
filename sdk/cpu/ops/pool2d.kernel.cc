#include <algorithm>
#include <vector>

#include "sdk/cpu/backend/lowerings.h"
#include "sdk/cpu/backend/parallel.h"
#include "sdk/cpu/elementwise/float16.h"
#if defined(__aarch64__)
#include "sdk/cpu/elementwise/vector.h"
#endif
#include "sdk/cpu/xnnpack/operator.h"
#include "sdk/operators/built_in.h"

namespace ferry::cpu {
namespace {

constexpr size_t kBandSize = 1024;  // elements

// The part of a window inside the input, in one dimension.
struct Range {
  size_t begin, end;
  float scale;  // factor of the sum in an average
};

struct Side {
  int64_t input, output, kernel, stride, before, after;
};

[[gnu::cold]] std::vector<Range> ranges(const Side& side, bool count_padding) {
  std::vector<Range> out;
  for (int64_t i = 0; i < side.output; ++i) {
    const int64_t start = i * side.stride - side.before;
    const int64_t begin = std::max<int64_t>(start, 0), end = std::min(start + side.kernel, side.input);
    const int64_t counted =
        count_padding ? std::min(start + side.kernel, side.input + side.after) - start : end - begin;
    out.push_back({static_cast<size_t>(begin), static_cast<size_t>(end), 1.0f / static_cast<float>(counted)});
  }
  return out;
}

// For each position of kRuns runs of `count` elements: the maximum, or the sum times `scale`. Unless kFirst, combines
// it with `out`.
template <bool kMax, bool kFirst, size_t kRuns>
[[gnu::always_inline]] inline void fold(const float* from, size_t stride, size_t count, float scale, float* out) {
  const auto both = [](float a, float b) { return kMax ? (b > a || b != b ? b : a) : a + b; };  // NaN propagates
  size_t i = 0;
#if defined(__aarch64__)  // gcc compares and selects, where fmax does
  if constexpr (kMax) {
    for (; i + kLanes <= count; i += kLanes) {
      Vector value = load(from + i);
#pragma GCC unroll 2
      for (size_t run = 1; run < kRuns; ++run) value = vmaxq_f32(value, load(from + run * stride + i));
      store(out + i, kFirst ? value : vmaxq_f32(load(out + i), value));
    }
  }
#endif
  FERRY_INDEPENDENT
  for (; i < count; ++i) {
    float value = from[i];
    for (size_t run = 1; run < kRuns; ++run) value = both(value, from[run * stride + i]);
    value *= kMax ? 1.0f : scale;
    out[i] = kFirst ? value : both(out[i], value);
  }
}

// Reduces each range of runs to one run; `from`: run `first`. XNNPACK's pooling does not support partial windows that
// count their padding, and it keeps an indirection buffer for all windows.
template <bool kMax>
FERRY_KERNEL void fold_each(const float* from, size_t first, size_t stride, std::span<const Range> ranges, size_t count,
                            float* out) {
  for (size_t i = 0, alike; i < ranges.size(); i += alike) {
    const Range& range = ranges[i];
    const size_t runs = range.end - range.begin;
    // Merges ranges of equal length that advance by one run into longer runs.
    for (alike = 1; i + alike < ranges.size(); ++alike) {
      const Range& next = ranges[i + alike];
      if (next.begin != range.begin + alike || next.end != range.end + alike || next.scale != range.scale) break;
    }
    const float* begin = from + (range.begin - first) * stride;
    const size_t length = alike * count;
    size_t run = std::min<size_t>(runs, 3);
    if (run == 3) fold<kMax, true, 3>(begin, stride, length, range.scale, out);
    if (run == 2) fold<kMax, true, 2>(begin, stride, length, range.scale, out);
    if (run == 1) fold<kMax, true, 1>(begin, stride, length, range.scale, out);
    for (; run + 2 <= runs; run += 2) fold<kMax, false, 2>(begin + run * stride, stride, length, range.scale, out);
    if (run < runs) fold<kMax, false, 1>(begin + run * stride, stride, length, range.scale, out);
    out += length;
  }
}

class Pool2d : public Op {
 public:
  Pool2d(const fbs::Pool2d& params, bool float16) : params_(params), float16_(float16) {}

  [[gnu::cold]] Status reshape(std::span<const Shape> inputs, const Shape& output, Pool* pool,
                               uint64_t* workspace) override {
    const Shape& x = inputs[0];
    const fbs::Pool2d& p = params_;
    rows_ = ranges({x[1], output[1], p.kernel_h(), p.stride_h(), p.pad_top(), p.pad_bottom()}, p.count_include_pad());
    columns_ =
        ranges({x[2], output[2], p.kernel_w(), p.stride_w(), p.pad_left(), p.pad_right()}, p.count_include_pad());
    batch_ = static_cast<size_t>(x[0]);
    height_ = static_cast<size_t>(x[1]);
    width_ = static_cast<size_t>(x[2]);
    channels_ = static_cast<size_t>(x[3]);
    // Rows of a band that several output rows read stay in the L1 cache; narrower bands would mostly recompute their
    // borders.
    band_ = std::max(kBandSize / channels_ / static_cast<size_t>(p.kernel_h()), 4 * static_cast<size_t>(p.kernel_w()));
    const uint64_t span = uint64_t{band_ - 1} * static_cast<size_t>(p.stride_w()) + static_cast<size_t>(p.kernel_w());
    line_ = static_cast<size_t>(std::min<uint64_t>(span, width_)) * channels_;
    // float16: also the converted rows of the windows, and the band's results.
    kernel_rows_ = float16_ ? std::min(static_cast<size_t>(p.kernel_h()), height_) : 0;
    const size_t results = float16_ ? std::min(band_, columns_.size()) * channels_ : 0;
    share_ = line_ * (1 + kernel_rows_) + results;
    *workspace = uint64_t{sizeof(float)} * pool->threads() * share_;
    return {};
  }

  [[gnu::cold]] Status setup(std::span<const void* const> inputs, void* output, void* workspace) override {
    input_ = inputs[0];
    output_ = output;
    lines_ = floats(workspace);
    return {};
  }

  Status run(Pool* pool) override {
    const auto kernel = params_.kind() == fbs::PoolKind::Max ? &Pool2d::pool_band<true> : &Pool2d::pool_band<false>;
    const size_t bands = (columns_.size() + band_ - 1) / band_;
    parallel(pool, Grid<2, 0>{{bands, batch_ * rows_.size()}}, [&](Pool::Share& share, size_t band, size_t row) {
      (this->*kernel)(row, band * band_, lines_ + share.thread() * share_);
    });
    return {};
  }

 private:
  // Pools part of an output row: reduces the rows of its windows to one, then the columns of each window.
  template <bool kMax>
  void pool_band(size_t row, size_t first, float* line) const {
    const auto columns = std::span(columns_).subspan(first, std::min(band_, columns_.size() - first));
    const size_t from = columns.front().begin, count = (columns.back().end - from) * channels_;
    const size_t stride = width_ * channels_, image = row / rows_.size() * height_ * stride + from * channels_;
    const size_t to = (row * columns_.size() + first) * channels_;
    Range window = rows_[row % rows_.size()];
    if constexpr (built_in(Feature::Float16))
      if (float16_) {
        float *wide = line + line_, *results = wide + kernel_rows_ * line_;
        for (size_t i = window.begin; i < window.end; ++i)
          widen(float16s(input_) + image + i * stride, wide + (i - window.begin) * count, count);
        fold_each<kMax>(wide, window.begin, count, {&window, 1}, count, line);
        fold_each<kMax>(line, from, channels_, columns, channels_, results);
        narrow(results, float16s(output_) + to, columns.size() * channels_);
        return;
      }
    fold_each<kMax>(floats(input_) + image, 0, stride, {&window, 1}, count, line);
    fold_each<kMax>(line, from, channels_, columns, channels_, floats(output_) + to);
  }

  const fbs::Pool2d& params_;
  std::vector<Range> rows_, columns_;
  size_t batch_ = 0, height_ = 0, width_ = 0, channels_ = 0;
  size_t band_ = 1, line_ = 0;  // pixels of an output row; elements that they are computed from
  size_t kernel_rows_ = 0;      // float16 only
  size_t share_ = 0;            // workspace elements per thread
  const void* input_ = nullptr;
  void* output_ = nullptr;
  float* lines_ = nullptr;
  const bool float16_;
};

}  // namespace

Status create_pool2d(const CpuFeatures&, const Model&, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  *out = std::make_unique<Pool2d>(*op.params_as_Pool2d(), /*float16=*/false);
  return {};
}

Status create_float16_pool2d(const CpuFeatures&, const Model&, const fbs::Operator& op, std::unique_ptr<Op>* out) {
  *out = std::make_unique<Pool2d>(*op.params_as_Pool2d(), /*float16=*/true);
  return {};
}

}  // namespace ferry::cpu
