// Images as cameras give them: planes of samples in any order, which stand on any side.
#pragma once

#include <cstdint>

#include "sdk/image/frame_clipping.h"
#include "sdk/image/frame_columns.h"
#include "sdk/image/resize.h"

namespace ferry {
class DeviceMemory;  // sdk/graph/device_memory.h
}

namespace ferry::image {

// Samples of one kind, `row` and `pixel` bytes apart.
struct Plane {
  const uint8_t* data = nullptr;  // null where the frame lies in a device's memory
  int64_t offset = 0;             // of the first, there
  int64_t row = 0;
  int pixel = 0;
};

// To RGB in levels of 0 to 255, from luma above `black` and chroma above 128.
struct YuvMatrix {
  float luma = 0, red_v = 0, green_u = 0, green_v = 0, blue_u = 0;
  int16_t black = 0;
};
// From the shares that red and blue have in luma (Rec. ITU-R BT.601-7, 2.5). Limited range: luma has 219 steps from 16
// on, chroma 224; of 10 bits (`wide`) four times as many, and full range 1023.
YuvMatrix matrix_of(double red, double blue, bool limited, bool wide);

// The same for what is within a level of it: luma's factor has 14 bits after the point, the others 13.
struct FixedMatrix {
  int16_t luma = 0, red_v = 0, green_u = 0, green_v = 0, blue_u = 0;
  int16_t black = 0;
};
FixedMatrix fixed_of(const YuvMatrix& matrix);

// Everything about it is checked: samples may be read.
struct Frame {
  enum class Samples : uint8_t { Rgb, Yuv, Gray };

  const DeviceMemory* memory = nullptr;  // where it lies; null: in the app's
  Samples samples = Samples::Rgb;
  Plane planes[3];         // red, green, blue; or luma, U, V, of which a chroma sample is for two columns
  bool wide = false;       // Yuv: 16 bits, little-endian, of which the upper 10 count
  bool half_rows = false;  // Yuv: a chroma sample is for two rows, too
  YuvMatrix matrix;
  FixedMatrix fixed_matrix;
  // The part that counts, in the pixels of the frame as it lies in memory.
  int left = 0, top = 0, width = 0, height = 0;
  // How it is seen: with rows and columns exchanged, then from right to left, from bottom to top.
  bool transposed = false, from_right = false, from_bottom = false;

  // Its levels shall be Pillow's bit for bit, not within one.
  bool exact = false;

  bool given() const { return width > 0; }
  int seen_width() const { return transposed ? height : width; }
  int seen_height() const { return transposed ? width : height; }
};

// A frame's rows in memory as RGB of 4 bytes a pixel, or grey.
class FrameRows final : public Rows {
 public:
  // Of frames that begin at that frame's column. `sums`: such that sums are near enough.
  void prepare(const Frame& frame, const Resizer& resizer, bool sums);
  // Of this frame, from its first row on. Takes memory only where a frame is larger than those before.
  void begin(const Frame& frame, int channels);
  const uint8_t* row(int y, int begin, int end, uint8_t* room) override;
  bool sum(const Axis& rows, int n, uint8_t* line) override;

 private:
  struct Weights;
  void sum_eight(const Axis& rows, int n);
  void keep_rows(const Axis& rows, int begin, int end);
  void sum_planes(const Weights& weights, int line, int chroma_line);
  void none_clip();
  void sum_excess(const Weights& weights, int line);
  void add_excess(const Weights& weights, int from, int to, int cell, int line);
  void clear_excess(int line);
  void filter();
  void filter_excess(int colour);
  void to_colours(int line, int chroma_line, int16_t* const* colours);
  int16_t* kept(int y, int c) { return kept_.line(3 * (y % slots_) + c); }

  Frame frame_;
  int channels_ = 0;
  Resizer::Order order_ = Resizer::Order::SumsFirst;
  bool sums_near_ = false, adds_planes_ = false;
  PlaneColumns planes_;
  Clipping clipping_;
  std::vector<uint8_t> clips_;  // of each cell: bit i says that its ith colour does in any of the lines
  int clipping_lines_ = 0;      // bit i: the ith does somewhere
  // Eight lines of each plane: luma, u, v, and by how much red, green, blue clip. Sums of rows, a sample for each
  // column or two; then what the columns make of them.
  LineBuffer sums_, outputs_;
  int v_ = 0;  // the first line of v
  LineBuffer colours_;
  std::vector<int16_t> both_;  // sums of chroma in pairs
  // Colours of rows whose columns come first, y's three lines at y modulo slots_.
  LineBuffer kept_;
  int slots_ = 0, next_ = 0;
};

// The image as a frame.
Frame frame_of(const View& rgb);

}  // namespace ferry::image
