#include "sdk/model/seeded.h"

namespace ferry {

void seeded_images(uint64_t seed, int64_t n, int64_t channels, int64_t height, int64_t width, bool channels_last,
                   float* out) {
  const Stream tile("input.tile", seed), noise("input.noise", seed);
  const int64_t tile_rows = (height + 31) / 32, tile_columns = (width + 31) / 32, area = height * width;
  uint64_t index = 0;
  for (int64_t plane = 0; plane < n * channels; ++plane)
    for (int64_t y = 0; y < height; ++y)
      for (int64_t x = 0; x < width; ++x, ++index) {
        const int64_t cell = (plane * tile_rows + y / 32) * tile_columns + x / 32;
        const int64_t at = channels_last ? (plane / channels * area + y * width + x) * channels + plane % channels
                                         : static_cast<int64_t>(index);
        out[at] = static_cast<float>(1.5 * tile.unit(static_cast<uint64_t>(cell)) + 0.5 * noise.unit(index));
      }
}

}  // namespace ferry
