#include "sdk/image/upright.h"

#include <vector>

namespace ferry::image {

Status upright(const Frame& frame, Pixels* out) {
  constexpr int kWide = 4, kColours = 3;  // bytes of a pixel, as read and as written
  const int width = frame.seen_width(), height = frame.seen_height();
  FERRY_TRY(out->allocate(width, height, kColours));
  FrameRows rows;
  rows.begin(frame, kWide);
  // A row may begin one pixel earlier, at a sample of chroma.
  std::vector<uint8_t> room(static_cast<size_t>(frame.width + 1) * kWide + Rows::kSpare);
  for (int y = 0; y < frame.height; ++y) {
    const uint8_t* from = rows.row(y, 0, frame.width, room.data());
    for (int x = 0; x < frame.width; ++x, from += kWide) {
      const int column = frame.transposed ? y : x, row = frame.transposed ? x : y;
      uint8_t* to = out->row(frame.from_bottom ? height - 1 - row : row) +
                    int64_t{kColours} * (frame.from_right ? width - 1 - column : column);
      for (int c = 0; c < kColours; ++c) to[c] = from[c];
    }
  }
  return {};
}

}  // namespace ferry::image
