#include "sdk/task/foreground.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

namespace ferry::task {
namespace {

constexpr int kColours = 3;
constexpr int kWhite = 255;

// Sums over a set of pixels: alpha, and the colours of foreground and background weighted by it.
struct Sums {
  int64_t front = 0;
  int64_t front_colours[kColours] = {}, back_colours[kColours] = {};

  void add(const Sums& s, int sign) {
    front += sign * s.front;
    for (int c = 0; c < kColours; ++c) {
      front_colours[c] += sign * s.front_colours[c];
      back_colours[c] += sign * s.back_colours[c];
    }
  }
};

// One pass. Both colours are weighted means over squares of `radius` pixels to each side, clipped to the image; the
// foreground is then corrected with the image. Column sums are updated from row to row, so that the cost does not
// depend on the radius.
class Pass {
 public:
  Pass(const image::View& image, const image::View& matte, const image::View& front, const image::View& back,
       int radius)
      : image_(image), matte_(matte), front_(front), back_(back), radius_(radius) {
    columns_.resize(static_cast<size_t>(image.width));
  }

  void run(image::Pixels* front, image::Pixels* back) {
    const int width = image_.width, height = image_.height;
    for (int y = 0; y < std::min(radius_, height); ++y) add_row(y, 1);
    for (int y = 0; y < height; ++y) {
      if (y + radius_ < height) add_row(y + radius_, 1);
      if (y - radius_ > 0) add_row(y - radius_ - 1, -1);
      const int64_t rows = std::min(y + radius_, height - 1) - std::max(y - radius_, 0) + 1;
      Sums square;
      for (int x = 0; x < std::min(radius_, width); ++x) square.add(column(x), 1);
      for (int x = 0; x < width; ++x) {
        if (x + radius_ < width) square.add(column(x + radius_), 1);
        if (x - radius_ > 0) square.add(column(x - radius_ - 1), -1);
        const int64_t columns = std::min(x + radius_, width - 1) - std::max(x - radius_, 0) + 1;
        write(square, rows * columns, x, y, front->row(y) + kColours * x, back->row(y) + kColours * x);
      }
    }
  }

 private:
  Sums& column(int x) { return columns_[static_cast<size_t>(x)]; }

  void add_row(int y, int sign) {
    const uint8_t *front = front_.row(y), *back = back_.row(y), *matte = matte_.row(y);
    for (int x = 0; x < matte_.width; ++x) {
      Sums pixel;
      pixel.front = matte[x];
      for (int c = 0; c < kColours; ++c) {
        pixel.front_colours[c] = *front++ * matte[x];
        pixel.back_colours[c] = *back++ * (kWhite - matte[x]);
      }
      column(x).add(pixel, sign);
    }
  }

  void write(const Sums& sums, int64_t pixels, int x, int y, uint8_t* front, uint8_t* back) const {
    const auto in_front = static_cast<float>(sums.front), behind = static_cast<float>(pixels * kWhite - sums.front);
    const float alpha = static_cast<float>(matte_.row(y)[x]) / kWhite;
    const uint8_t* seen = image_.row(y) + kColours * x;
    for (int c = 0; c < kColours; ++c) {
      // Without any foreground its colour is undefined.
      const float f = in_front > 0 ? static_cast<float>(sums.front_colours[c]) / in_front : 0;
      const float b = behind > 0 ? static_cast<float>(sums.back_colours[c]) / behind : 0;
      const float corrected = f + alpha * (seen[c] - alpha * f - (1 - alpha) * b);
      front[c] = static_cast<uint8_t>(std::lrintf(std::clamp(corrected, 0.0f, static_cast<float>(kWhite))));
      back[c] = static_cast<uint8_t>(std::lrintf(b));
    }
  }

  image::View image_, matte_, front_, back_;
  int radius_;
  std::vector<Sums> columns_;
};

}  // namespace

Status estimate_foreground(const image::View& image, const image::View& matte, image::Pixels* out) {
  image::Pixels front, back, corrected_back;
  for (image::Pixels* pixels : {&front, &back, &corrected_back, out})
    FERRY_TRY(pixels->allocate(image.width, image.height, kColours));
  Pass(image, matte, image, image, 90).run(&front, &back);
  Pass(image, matte, front.view(), back.view(), 6).run(out, &corrected_back);
  return {};
}

}  // namespace ferry::task
