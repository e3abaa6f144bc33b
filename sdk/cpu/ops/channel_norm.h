// Normalizations with statistics over whole images: x * scale + shift, where scale and shift per sample and channel
// follow from the sums of the channels.
#pragma once

#include <array>

#include "sdk/cpu/backend/op.h"

namespace ferry::cpu {

class ChannelNorm : public Op {
 public:
  Status reshape(std::span<const Shape> inputs, const Shape& output, Pool* pool, uint64_t* workspace) override;
  Status setup(std::span<const void* const> inputs, void* output, void* workspace) override;
  Status run(Pool* pool) override;

 protected:
  // Sums of one sample over all `places` (pixels): [channels].
  struct Sums {
    const double* of;
    size_t places, channels;
  };
  // `centered`: means are subtracted before squaring.
  explicit ChannelNorm(bool centered) : centered_(centered) {}
  // Computes the mean per channel from the sums of x.
  virtual void find_means(const Sums&, float*) const {}
  // Computes scale and shift from the sums of (x - mean)^2; means are 0 if not centered.
  virtual void scale_and_shift(const Sums& squares, const float* means, const float* weight, const float* bias,
                               float* scale, float* shift) const = 0;

 private:
  // Number of row ranges that tasks sum, the same for every pool, so that results do not depend on the number of
  // threads.
  size_t tiles() const { return (places_ + tile_ - 1) / tile_; }
  float* means(size_t sample) const { return factors_ + sample * 3 * channels_; }
  template <typename Body>
  void for_each_tile(Pool* pool, const Body& body) const;
  template <bool kSquares>
  void add_up(Pool* pool) const;
  Sums sums(size_t sample) const;

  bool centered_;
  size_t samples_ = 0, places_ = 0, channels_ = 0, tile_ = 1;
  std::array<const float*, 3> inputs_{};
  float* output_ = nullptr;
  double* partial_ = nullptr;  // [samples, tiles, channels]
  float* factors_ = nullptr;   // [samples, (means, scales, shifts), channels]
};

}  // namespace ferry::cpu
