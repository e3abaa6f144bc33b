// SPDX-License-Identifier: Apache-2.0
// Draws answers on images: boxes and lines with the library, the rest here.
#include <algorithm>
#include <cmath>

#include "pixels.h"

namespace camera {
namespace {

// From far (0, dark) to near (1, bright): samples of Matplotlib's "inferno", interpolated linearly.
void depth_colour(float share, uint8_t* rgb) {
  constexpr uint8_t kPlaces[][3] = {{0, 0, 4},     {40, 11, 84},   {101, 21, 110}, {159, 42, 99},
                                    {212, 72, 66}, {245, 125, 21}, {250, 193, 39}, {252, 255, 164}};
  constexpr int kLast = static_cast<int>(std::size(kPlaces)) - 1;
  const float place = std::clamp(share, 0.0f, 1.0f) * kLast;
  const int left = std::min(static_cast<int>(place), kLast - 1);
  const float between = place - static_cast<float>(left);
  for (int c = 0; c < 3; ++c) {
    const int from = kPlaces[left][c], to = kPlaces[left + 1][c];
    rgb[c] = static_cast<uint8_t>(std::lrint(static_cast<float>(from) + static_cast<float>(to - from) * between));
  }
}

// The image on the left, its depth on the right.
Pixels with_depth(const ferry::Answer& answer, const Pixels& image) {
  Pixels both(2 * image.width, image.height);
  const float range = answer.maximum > answer.minimum ? answer.maximum - answer.minimum : 1;
  for (int y = 0; y < image.height; ++y) {
    std::copy_n(image.at(0, y), 3 * image.width, both.at(0, y));
    for (int x = 0; x < image.width; ++x) {
      const float share = (answer.map[y * image.width + x] - answer.minimum) / range;
      const bool far_is_large = answer.sense == FERRY_SENSE_METRES;
      depth_colour(std::isfinite(share) ? (far_is_large ? 1 - share : share) : 0, both.at(image.width + x, y));
    }
  }
  return both;
}

}  // namespace

ferry::Result<Pixels> draw(const ferry::Answer& answer, Pixels image) {
  const size_t count = static_cast<size_t>(image.width) * static_cast<size_t>(image.height);
  switch (answer.kind) {
    case FERRY_ANSWER_BOXES:
    case FERRY_ANSWER_LINES: {
      const ferry_image view = image.image();
      ferry_image drawn{};
      if (ferry::Status status = ferry_answer_draw(&answer, &view, &drawn); !status) return status;
      Pixels out = copy_of(drawn);
      ferry_image_free(&drawn);
      return out;
    }
    case FERRY_ANSWER_MAP: return with_depth(answer, image);
    case FERRY_ANSWER_LABELS:
      for (size_t i = 0; i < count; ++i) {
        const uint32_t colour = ferry_label_colour(answer.labels[i]);
        for (size_t c = 0; c < 3; ++c) {
          uint8_t& level = image.bytes[3 * i + c];
          level = static_cast<uint8_t>((level + (colour >> (16 - 8 * c) & 0xff)) / 2);
        }
      }
      return image;
    case FERRY_ANSWER_MASK:
      for (size_t i = 0; i < count; ++i) {
        constexpr int kDark = 64;  // brightness out of 255 that remains outside of the mask
        const int share = kDark + (255 - kDark) * answer.mask[i] / 255;
        for (size_t c = 0; c < 3; ++c) {
          uint8_t& level = image.bytes[3 * i + c];
          level = static_cast<uint8_t>(level * share / 255);
        }
      }
      return image;
    case FERRY_ANSWER_IMAGE: return copy_of(answer.image);
    default: return image;
  }
}

}  // namespace camera
