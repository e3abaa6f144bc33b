// SPDX-License-Identifier: Apache-2.0
// Converts frames to RGB, for display and for networks that return images.
#include <algorithm>
#include <cmath>

#include "pixels.h"

namespace camera {
namespace {

constexpr int kBits = 16;  // of fixed-point factors

struct Colours {
  int black, luma, red_v, green_u, green_v, blue_u;
};

// Rec. ITU-R BT.601, BT.709 and BT.2020: from the luma weights of red and blue.
Colours colours_of(const ferry::Frame& frame) {
  const double red = frame.matrix == FERRY_MATRIX_BT709 ? 0.2126 : frame.matrix == FERRY_MATRIX_BT2020 ? 0.2627 : 0.299;
  const double blue = frame.matrix == FERRY_MATRIX_BT709    ? 0.0722
                      : frame.matrix == FERRY_MATRIX_BT2020 ? 0.0593
                                                            : 0.114;
  const double green = 1 - red - blue;
  const bool limited = frame.range == FERRY_RANGE_LIMITED;
  const double luma = limited ? 255.0 / 219 : 1, chroma = limited ? 255.0 / 224 : 1;
  const auto fixed = [](double factor) { return static_cast<int>(std::lrint(factor * (1 << kBits))); };
  return {limited ? 16 : 0,
          fixed(luma),
          fixed(2 * (1 - red) * chroma),
          fixed(-2 * blue * (1 - blue) / green * chroma),
          fixed(-2 * red * (1 - red) / green * chroma),
          fixed(2 * (1 - blue) * chroma)};
}

uint8_t level(int fixed) { return static_cast<uint8_t>(std::clamp((fixed + (1 << (kBits - 1))) >> kBits, 0, 255)); }

// Reads a pixel from memory.
class PixelReader {
 public:
  explicit PixelReader(const ferry::Frame& frame) : frame_(frame), colours_(colours_of(frame)) {}

  void read(int x, int y, uint8_t* rgb) const {
    switch (frame_.format) {
      case FERRY_FRAME_YUV420: return yuv(*at(0, x, y, 1), *at(1, x / 2, y / 2, 1), *at(2, x / 2, y / 2, 1), rgb);
      case FERRY_FRAME_NV12: return pair(x, y, 1, 0, 1, rgb);
      case FERRY_FRAME_NV21: return pair(x, y, 1, 1, 0, rgb);
      case FERRY_FRAME_P010: return pair(x, y, 2, 0, 1, rgb);
      case FERRY_FRAME_YUY2: {
        const uint8_t* two = at(0, x / 2, y, 4);
        return yuv(two[x % 2 * 2], two[1], two[3], rgb);
      }
      case FERRY_FRAME_RGBA: return copy(at(0, x, y, 4), 0, 1, 2, rgb);
      case FERRY_FRAME_BGRA: return copy(at(0, x, y, 4), 2, 1, 0, rgb);
      case FERRY_FRAME_RGB: return copy(at(0, x, y, 3), 0, 1, 2, rgb);
      case FERRY_FRAME_GRAY: return yuv(*at(0, x, y, 1), 128, 128, rgb);
    }
  }

 private:
  const uint8_t* at(int plane, int x, int y, int bytes) const {
    const ferry_plane& p = frame_.planes[plane];
    const int step = p.pixel_stride != 0 ? p.pixel_stride : bytes;
    return p.data + static_cast<ptrdiff_t>(y) * p.row_stride + static_cast<ptrdiff_t>(x) * step;
  }
  // Little-endian samples of `bytes` bytes, of which the upper eight bits are used.
  void pair(int x, int y, int bytes, int u, int v, uint8_t* rgb) const {
    const uint8_t *luma = at(0, x, y, bytes), *chroma = at(1, x / 2, y / 2, 2 * bytes);
    yuv(luma[bytes - 1], chroma[u * bytes + bytes - 1], chroma[v * bytes + bytes - 1], rgb);
  }
  void yuv(int y, int u, int v, uint8_t* rgb) const {
    const int luma = (y - colours_.black) * colours_.luma;
    u -= 128;
    v -= 128;
    rgb[0] = level(luma + v * colours_.red_v);
    rgb[1] = level(luma + u * colours_.green_u + v * colours_.green_v);
    rgb[2] = level(luma + u * colours_.blue_u);
  }
  static void copy(const uint8_t* from, int r, int g, int b, uint8_t* rgb) {
    rgb[0] = from[r], rgb[1] = from[g], rgb[2] = from[b];
  }

  const ferry::Frame& frame_;
  Colours colours_;
};

}  // namespace

Pixels copy_of(const ferry_image& image) {
  Pixels pixels(image.width, image.height);
  for (int y = 0; y < image.height; ++y)
    std::copy_n(image.pixels + static_cast<ptrdiff_t>(y) * image.stride, 3 * image.width, pixels.at(0, y));
  return pixels;
}

ferry::Result<Pixels> rgb_of(const ferry::Frame& frame) {
  int32_t width = 0, height = 0;
  if (ferry::Status size = ferry_frame_size(&frame, &width, &height); !size) return size;
  Pixels pixels(width, height);
  const PixelReader reader(frame);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const int column = frame.mirror ? width - 1 - x : x;
      switch (frame.rotation) {
        case 90: reader.read(y, frame.height - 1 - column, pixels.at(x, y)); break;
        case 180: reader.read(frame.width - 1 - column, frame.height - 1 - y, pixels.at(x, y)); break;
        case 270: reader.read(frame.width - 1 - y, column, pixels.at(x, y)); break;
        default: reader.read(column, y, pixels.at(x, y)); break;
      }
    }
  }
  return pixels;
}

}  // namespace camera
