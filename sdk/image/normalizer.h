// From levels to what a network reads, line by line.
#pragma once

#include <cstdint>
#include <span>

#include "ferry_generated.h"
#include "sdk/status.h"

namespace ferry::image {

class Normalizer {
 public:
  // For a network that sees height x width pixels. FERRY_INVALID_ARGUMENT: sides that are no multiples of a block of
  // patches; means, deviations or fills for another number of channels.
  Status prepare(const fbs::Preprocess& recipe, int height, int width, int channels);

  // A row or a column: `count` pixels, `step` bytes apart, from place `begin` on, and fill around them.
  struct Line {
    const uint8_t* pixels = nullptr;
    int step = 0;
    int begin = 0, count = 0;
    bool near = false;  // numbers may be rounded in another way than the frameworks'
  };
  // Into the input `out`: channels last, or the recipe's patches.
  void row(int y, const Line& line, float* out) const { put(y, line, false, out); }
  void column(int x, const Line& line, float* out) const { put(x, line, true, out); }

  static constexpr int kLevels = 256;
  int channels() const { return channels_; }
  // What the levels of a channel become, in the order in which the network has them, and what stands where there is no
  // image.
  std::span<const float, kLevels> numbers(int channel) const { return table_[channel]; }
  float fill(int channel) const { return fill_[channel]; }
  bool reversed() const { return reversed_; }  // the network's first channel is the image's last
  // Pixels of a patch's side, patches of a block's, copies of each; no patches: 0.
  int patch() const { return patch_; }
  int block() const { return block_; }
  int frames() const { return frames_; }

 private:
  void put(int at, const Line& line, bool column, float* out) const;
  void put_patches(int at, const Line& line, bool column, float* out) const;
  void part(const Line& line, int from, int count, float* out, int64_t pixel_step, int64_t channel_step) const;

  float table_[4][kLevels];
  float steps_[4];  // from a level to the next
  float fill_[4];
  int channels_ = 0, height_ = 0, width_ = 0;
  int patch_ = 0, block_ = 1, frames_ = 1;
  bool reversed_ = false;
};

}  // namespace ferry::image
