// Normalizations whose statistics are of whole pictures: x * scale + shift, with a scale and a shift for each sample and
// channel that follow from the channels' sums.
#pragma once

#include <array>

#include "sdk/cpu/op.h"

namespace ferry::cpu {

class ChannelNorm : public Op {
 public:
  Status reshape(std::span<const Shape> inputs, const Shape& output, pthreadpool_t pool, size_t* workspace) override;
  Status setup(std::span<const void* const> inputs, void* output, void* workspace) override;
  Status run(pthreadpool_t pool) override;

 protected:
  // One sample: sums of x and of x * x over all `places`, one of each a channel. In double: differences of them are exact
  // enough.
  struct Statistics {
    const double* sums;
    const double* squares;
    size_t places, channels;
  };
  virtual void scale_and_shift(const Statistics& statistics, const float* weight, const float* bias, float* scale,
                               float* shift) const = 0;

 private:
  // Rows that one task adds up: the same for every pool, so that results do not depend on the number of threads.
  size_t tiles() const { return (places_ + tile_ - 1) / tile_; }

  size_t samples_ = 0, places_ = 0, channels_ = 0, tile_ = 1;
  std::array<const float*, 3> inputs_{};
  float* output_ = nullptr;
  double* partial_ = nullptr;  // [samples, tiles, 2, channels]
  float* factors_ = nullptr;   // [samples, 2, channels]
};

}  // namespace ferry::cpu
