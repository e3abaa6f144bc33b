#include "sdk/cpu/ops/channel_norm.h"

#include <algorithm>

#include "sdk/cpu/backend/parallel.h"
#include "sdk/cpu/xnnpack/operator.h"

namespace ferry::cpu {
namespace {

constexpr size_t kChannelsAtOnce = 32;  // channels whose sums are kept in registers
constexpr size_t kRun = 128;            // rows that are summed in float

// The variance is computed from deviations from the mean, which avoids cancellation.
template <bool kSquares>
[[gnu::always_inline]] inline float term(float x, float mean) {
  return kSquares ? (x - mean) * (x - mean) : x;
}

// Adds the terms of at most kRun rows to sums[channels].
template <bool kSquares>
[[gnu::always_inline]] inline void add_rows(const float* x, size_t rows, size_t channels, const float* means,
                                            double* sums) {
  size_t c = 0;
  for (; c + kChannelsAtOnce <= channels; c += kChannelsAtOnce) {
    float sum[kChannelsAtOnce] = {}, mean[kChannelsAtOnce];
    std::copy_n(means + c, kChannelsAtOnce, mean);
    for (size_t row = 0; row < rows; ++row)
      for (size_t k = 0; k < kChannelsAtOnce; ++k) sum[k] += term<kSquares>(x[row * channels + c + k], mean[k]);
    for (size_t k = 0; k < kChannelsAtOnce; ++k) sums[c + k] += static_cast<double>(sum[k]);
  }
  for (size_t row = 0; row < rows; ++row) {
    FERRY_INDEPENDENT
    for (size_t k = c; k < channels; ++k)
      sums[k] += static_cast<double>(term<kSquares>(x[row * channels + k], means[k]));
  }
}

template <bool kSquares>
FERRY_KERNEL void add_tile(const float* x, size_t rows, size_t channels, const float* means, double* sums) {
  std::fill_n(sums, channels, 0.0);
  for (size_t row = 0; row < rows; row += kRun)
    add_rows<kSquares>(x + row * channels, std::min(kRun, rows - row), channels, means, sums);
}

FERRY_KERNEL void apply(const float* x, size_t rows, size_t channels, const float* scale, const float* shift,
                        float* y) {
  for (size_t row = 0; row < rows; ++row, x += channels, y += channels) {
    FERRY_INDEPENDENT
    for (size_t c = 0; c < channels; ++c) y[c] = x[c] * scale[c] + shift[c];
  }
}

}  // namespace

Status ChannelNorm::reshape(std::span<const Shape> inputs, const Shape&, Pool*, uint64_t* workspace) {
  const Shape& x = inputs[0];
  samples_ = static_cast<size_t>(x[0]);
  channels_ = static_cast<size_t>(x[x.rank - 1]);
  places_ = elements(x, 1, x.rank - 1);
  // At most 64 tiles per sample keep the partial sums few; each tile is at least a task's work.
  tile_ = std::max({kGrain / channels_, (places_ + 63) / 64, size_t{1}});
  *workspace = uint64_t{samples_} * channels_ * (tiles() * sizeof(double) + 3 * sizeof(float));
  return {};
}

Status ChannelNorm::setup(std::span<const void* const> inputs, void* output, void* workspace) {
  for (size_t i = 0; i < 3; ++i) inputs_[i] = floats(inputs[i]);
  output_ = floats(output);
  partial_ = static_cast<double*>(workspace);
  factors_ = reinterpret_cast<float*>(partial_ + samples_ * tiles() * channels_);
  return {};
}

// body(tile index, sample, offset of the tile's first element, rows)
template <typename Body>
void ChannelNorm::for_each_tile(Pool* pool, const Body& body) const {
  parallel_for(pool, samples_ * tiles(), 1, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const size_t first = i % tiles() * tile_, n = i / tiles();
      body(i, n, (n * places_ + first) * channels_, std::min(tile_, places_ - first));
    }
  });
}

template <bool kSquares>
void ChannelNorm::add_up(Pool* pool) const {
  for_each_tile(pool, [&](size_t i, size_t n, size_t offset, size_t rows) {
    add_tile<kSquares>(inputs_[0] + offset, rows, channels_, means(n), partial_ + i * channels_);
  });
}

ChannelNorm::Sums ChannelNorm::sums(size_t sample) const {
  double* sums = partial_ + sample * tiles() * channels_;
  for (size_t tile = 1; tile < tiles(); ++tile) {
    for (size_t c = 0; c < channels_; ++c) sums[c] += sums[tile * channels_ + c];
  }
  return {sums, places_, channels_};
}

Status ChannelNorm::run(Pool* pool) {
  for (size_t n = 0; n < samples_; ++n) std::fill_n(means(n), channels_, 0.0f);
  if (centered_) {
    add_up<false>(pool);
    for (size_t n = 0; n < samples_; ++n) find_means(sums(n), means(n));
  }
  add_up<true>(pool);
  for (size_t n = 0; n < samples_; ++n) {
    float* scale = means(n) + channels_;
    scale_and_shift(sums(n), means(n), inputs_[1], inputs_[2], scale, scale + channels_);
  }
  for_each_tile(pool, [&](size_t, size_t n, size_t offset, size_t rows) {
    const float* scale = means(n) + channels_;
    apply(inputs_[0] + offset, rows, channels_, scale, scale + channels_, output_ + offset);
  });
  return {};
}

}  // namespace ferry::cpu
