// Frames with known contents, and what they look like by definition: plainly and in double.
#pragma once

#include <ferry/image.h>

#include <array>
#include <string>
#include <vector>

#include "ferry_generated.h"

namespace ferry::testing {

// Samples of 0 to 1 in three channels, row by row.
struct Image {
  int width = 0, height = 0;
  std::vector<double> samples;

  double& at(int x, int y, int c) { return samples[static_cast<size_t>((y * width + x) * 3 + c)]; }
  double at(int x, int y, int c) const { return samples[static_cast<size_t>((y * width + x) * 3 + c)]; }
};

// A frame whose planes are its own. Every byte that is no sample of it is noise.
class OwnFrame {
 public:
  // What the samples are: a smooth image with edges, which YUV holds without clipping but for its edges; or noise,
  // most of which clips.
  enum class Contents { Image, Noise };
  // `gaps`: strides larger than they need be.
  OwnFrame(ferry_frame_format format, int width, int height, Contents contents, bool gaps);

  ferry_frame frame{};
  // As ITU-R BT.601, BT.709 and BT.2020 define them, clipped and rounded to 8 bits; upright, the crop alone.
  Image seen() const;

 private:
  uint8_t* plane(int index, int columns, int rows, int bytes);
  std::array<double, 3> colour(int x, int y) const;

  std::array<std::vector<uint8_t>, 3> bytes_;
  bool gaps_;
};

// `crop`: the sides of the square that is cut out of the middle; 0: none is.
fbs::PreprocessT frame_recipe(fbs::ResizeMode mode, int height, int width, fbs::Filter filter, int crop = 0);

// Pillow's resize by its definition: each pass rounded to 8 bits.
Image resized(const Image& image, int width, int height, fbs::Filter filter);

std::string name_of(ferry_frame_format format);

}  // namespace ferry::testing
