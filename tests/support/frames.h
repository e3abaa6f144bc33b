// Frames with known contents, and a plain float64 reference of the image that they represent.
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

// The samples as bytes: levels 0 to 255.
std::vector<uint8_t> bytes_of(const Image& image);

// A frame that owns its planes. All bytes that are not samples are noise.
class OwnFrame {
 public:
  // Image: smooth with edges; YUV represents it without clipping except at edges. Noise: most of it clips.
  enum class Contents { Image, Noise };
  // `gaps`: strides are larger than necessary.
  OwnFrame(ferry_frame_format format, int width, int height, Contents contents, bool gaps);

  ferry_frame frame{};
  // By ITU-R BT.601, BT.709 and BT.2020, clipped and rounded to 8 bits; upright and cropped.
  Image seen() const;

 private:
  uint8_t* plane(int index, int columns, int rows, int bytes);
  std::array<double, 3> colour(int x, int y) const;

  std::array<std::vector<uint8_t>, 3> bytes_;
  bool gaps_;
};

// `crop`: the side of the central square crop; 0: none.
fbs::PreprocessT frame_recipe(fbs::ResizeMode mode, int height, int width, fbs::Filter filter, int crop = 0);

// Pillow's resize by its definition: each pass rounded to 8 bits.
Image resized(const Image& image, int width, int height, fbs::Filter filter);

std::string name_of(ferry_frame_format format);

}  // namespace ferry::testing
