// Converts levels to a network's input values, line by line.
#pragma once

#include <cstdint>
#include <span>

#include "ferry_generated.h"
#include "sdk/status.h"

namespace ferry::image {

class Normalizer {
 public:
  // For a network input of height x width pixels. FERRY_INVALID_ARGUMENT: sides that are not multiples of a block of
  // patches; mean, std or fill for another number of channels.
  Status prepare(const fbs::Preprocess& recipe, int height, int width, int channels);

  // A row or a column: `count` pixels, `step` bytes apart, at position `begin`, with fill around them.
  struct Line {
    const uint8_t* pixels = nullptr;
    int step = 0;
    int begin = 0, count = 0;
    bool near = false;  // values may be rounded differently from the frameworks
  };
  // Writes to the input `out`: channels last, or the preprocessing's patches.
  void row(int y, const Line& line, float* out) const { put(y, line, false, out); }
  void column(int x, const Line& line, float* out) const { put(x, line, true, out); }

  static constexpr int kLevels = 256;
  int channels() const { return channels_; }
  // The values of a channel's 256 levels, in the network's order of channels, and the fill value.
  std::span<const float, kLevels> numbers(int channel) const { return table_[channel]; }
  float fill(int channel) const { return fill_[channel]; }
  bool reversed() const { return reversed_; }  // the network's first channel is the image's last (BGR)
  // Side of a patch in pixels, side of a block in patches, copies of each; without patches: 0.
  int patch() const { return patch_; }
  int block() const { return block_; }
  int frames() const { return frames_; }

 private:
  void put(int at, const Line& line, bool column, float* out) const;
  void put_patches(int at, const Line& line, bool column, float* out) const;
  void part(const Line& line, int from, int count, float* out, int64_t pixel_step, int64_t channel_step) const;

  float table_[4][kLevels];
  float steps_[4];  // difference between adjacent levels
  float fill_[4];
  int channels_ = 0, height_ = 0, width_ = 0;
  int patch_ = 0, block_ = 1, frames_ = 1;
  bool reversed_ = false;
};

}  // namespace ferry::image
