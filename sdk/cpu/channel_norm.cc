#include "sdk/cpu/channel_norm.h"

#include <algorithm>

#include "sdk/cpu/parallel.h"
#include "sdk/cpu/xnn.h"

namespace ferry::cpu {
namespace {

constexpr size_t kChunk = 16;  // channels whose sums are kept in registers

FERRY_KERNEL void add_up(const float* x, size_t rows, size_t channels, double* sums, double* squares) {
  size_t c = 0;
  for (; c + kChunk <= channels; c += kChunk) {
    double sum[kChunk] = {}, square[kChunk] = {};
    for (size_t row = 0; row < rows; ++row) {
      for (size_t k = 0; k < kChunk; ++k) {
        const double value = static_cast<double>(x[row * channels + c + k]);
        sum[k] += value;
        square[k] += value * value;
      }
    }
    std::copy_n(sum, kChunk, sums + c);
    std::copy_n(square, kChunk, squares + c);
  }
  std::fill(sums + c, sums + channels, 0.0);
  std::fill(squares + c, squares + channels, 0.0);
  for (size_t row = 0; row < rows; ++row) {
    FERRY_INDEPENDENT
    for (size_t k = c; k < channels; ++k) {
      const double value = static_cast<double>(x[row * channels + k]);
      sums[k] += value;
      squares[k] += value * value;
    }
  }
}

FERRY_KERNEL void apply(const float* x, size_t rows, size_t channels, const float* scale, const float* shift,
                        float* y) {
  for (size_t row = 0; row < rows; ++row, x += channels, y += channels) {
    FERRY_INDEPENDENT
    for (size_t c = 0; c < channels; ++c) y[c] = x[c] * scale[c] + shift[c];
  }
}

}  // namespace

Status ChannelNorm::reshape(std::span<const Shape> inputs, const Shape&, pthreadpool_t, size_t* workspace) {
  const Shape& x = inputs[0];
  samples_ = static_cast<size_t>(x[0]);
  channels_ = static_cast<size_t>(x[x.rank - 1]);
  places_ = elements(x, 1, x.rank - 1);
  // At most 64 tiles a sample keep the partial sums few; each is at least a task's worth.
  tile_ = std::max({kGrain / channels_, (places_ + 63) / 64, size_t{1}});
  *workspace = samples_ * channels_ * 2 * (tiles() * sizeof(double) + sizeof(float));
  return {};
}

Status ChannelNorm::setup(std::span<const void* const> inputs, void* output, void* workspace) {
  for (size_t i = 0; i < 3; ++i) inputs_[i] = floats(inputs[i]);
  output_ = floats(output);
  partial_ = static_cast<double*>(workspace);
  factors_ = reinterpret_cast<float*>(partial_ + samples_ * tiles() * 2 * channels_);
  return {};
}

Status ChannelNorm::run(pthreadpool_t pool) {
  const size_t sample = places_ * channels_;
  const auto for_each_tile = [&](const auto& body) {
    parallel_for(pool, samples_ * tiles(), 1, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        const size_t first = i % tiles() * tile_;
        body(i, i / tiles(), i / tiles() * sample + first * channels_, std::min(tile_, places_ - first));
      }
    });
  };
  for_each_tile([&](size_t i, size_t, size_t offset, size_t rows) {
    double* sums = partial_ + i * 2 * channels_;
    add_up(inputs_[0] + offset, rows, channels_, sums, sums + channels_);
  });
  for (size_t n = 0; n < samples_; ++n) {
    double* sums = partial_ + n * tiles() * 2 * channels_;
    for (size_t tile = 1; tile < tiles(); ++tile) {
      for (size_t c = 0; c < 2 * channels_; ++c) sums[c] += sums[tile * 2 * channels_ + c];
    }
    float* scale = factors_ + n * 2 * channels_;
    scale_and_shift({sums, sums + channels_, places_, channels_}, inputs_[1], inputs_[2], scale, scale + channels_);
  }
  for_each_tile([&](size_t, size_t n, size_t offset, size_t rows) {
    const float* scale = factors_ + n * 2 * channels_;
    apply(inputs_[0] + offset, rows, channels_, scale, scale + channels_, output_ + offset);
  });
  return {};
}

}  // namespace ferry::cpu
