#include "sdk/task/crop.h"

#include <algorithm>

namespace ferry::task {

Status crop(const image::View& image, const LineBox& box, int width, int height, image::Pixels* out) {
  FERRY_TRY(out->allocate(width, height, kChannels));
  const float right = static_cast<float>(image.width - 1), bottom = static_cast<float>(image.height - 1);
  for (int y = 0; y < height; ++y) {
    uint8_t* to = out->row(y);
    const float b = static_cast<float>(2 * y + 1) / static_cast<float>(height) - 1;
    for (int x = 0; x < width; ++x) {
      const float a = static_cast<float>(2 * x + 1) / static_cast<float>(width) - 1;
      const float px = std::clamp(box.centre.x + a * box.along.x + b * box.down.x - 0.5f, 0.0f, right);
      const float py = std::clamp(box.centre.y + a * box.along.y + b * box.down.y - 0.5f, 0.0f, bottom);
      const int left = static_cast<int>(px), top = static_cast<int>(py);
      const float dx = px - static_cast<float>(left), dy = py - static_cast<float>(top);
      const uint8_t *first = image.row(top) + int64_t{left} * kChannels, *next = first;
      if (top + 1 < image.height) next += image.stride;
      const int beside = left + 1 < image.width ? kChannels : 0;
      for (int c = 0; c < kChannels; ++c) {
        const float above = static_cast<float>(first[c]) * (1 - dx) + static_cast<float>(first[c + beside]) * dx;
        const float below = static_cast<float>(next[c]) * (1 - dx) + static_cast<float>(next[c + beside]) * dx;
        *to++ = static_cast<uint8_t>(above * (1 - dy) + below * dy + 0.5f);
      }
    }
  }
  return {};
}

}  // namespace ferry::task
