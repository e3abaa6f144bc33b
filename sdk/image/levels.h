// Converts a network's output to an 8-bit image.
#pragma once

#include <cmath>
#include <cstdint>

#include "ferry_generated.h"

namespace ferry::image {

// Uses Postprocess.mean and std; for images of at most 4 channels.
class Levels {
 public:
  explicit Levels(const fbs::Postprocess& recipe) {
    for (unsigned c = 0; c < 4; ++c) {
      if (recipe.mean() && c < recipe.mean()->size()) mean_[c] = recipe.mean()->Get(c);
      if (recipe.std() && c < recipe.std()->size()) std_[c] = recipe.std()->Get(c);
    }
  }

  uint8_t of(float value, int channel) const {
    value = (value * std_[channel] + mean_[channel]) * 255.0f;
    if (!(value > 0.0f)) return 0;  // also NaN
    return value >= 255.0f ? 255 : static_cast<uint8_t>(std::lrintf(value));
  }

 private:
  float mean_[4] = {0, 0, 0, 0}, std_[4] = {1, 1, 1, 1};
};

}  // namespace ferry::image
