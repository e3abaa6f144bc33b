// Camera frames: planes of samples in several formats and orientations.
#pragma once

#include <cstdint>

#include "sdk/image/frame_clipping.h"
#include "sdk/image/frame_columns.h"
#include "sdk/image/resize.h"

namespace ferry {
class DeviceMemory;  // sdk/graph/device_memory.h
}

namespace ferry::image {

// Samples of one channel, `row` and `pixel` bytes apart.
struct Plane {
  const uint8_t* data = nullptr;  // null if the frame is in device memory
  int64_t offset = 0;             // of the first sample in device memory
  int64_t row = 0;
  int pixel = 0;
};

// Conversion to RGB levels of 0 to 255 from luma above `black` and chroma above 128.
struct YuvMatrix {
  float luma = 0, red_v = 0, green_u = 0, green_v = 0, blue_u = 0;
  int16_t black = 0;
};
// Computes the matrix from the luma coefficients of red and blue (Rec. ITU-R BT.601-7, 2.5). Limited range: luma has
// 219 steps from 16 on, chroma 224. `wide`: 10 bits, four times as many steps; full range ends at 1023.
YuvMatrix matrix_of(double red, double blue, bool limited, bool wide);

// A fixed-point approximation within one level: luma's factor has 14 fractional bits, the others 13.
struct FixedMatrix {
  int16_t luma = 0, red_v = 0, green_u = 0, green_v = 0, blue_u = 0;
  int16_t black = 0;
};
FixedMatrix fixed_of(const YuvMatrix& matrix);

// A checked frame: all its samples may be read.
struct Frame {
  enum class Samples : uint8_t { Rgb, Yuv, Gray };

  const DeviceMemory* memory = nullptr;  // memory of the planes; null: the app's
  Samples samples = Samples::Rgb;
  Plane planes[3];         // red, green, blue; or luma, U, V, where one chroma sample covers two columns
  bool wide = false;       // Yuv: 16 bits, little-endian; the upper 10 are used
  bool half_rows = false;  // Yuv: one chroma sample covers two rows
  YuvMatrix matrix;
  FixedMatrix fixed_matrix;
  // The crop, in pixels as stored.
  int left = 0, top = 0, width = 0, height = 0;
  // Orientation: first rows and columns are exchanged, then columns and rows are reversed.
  bool transposed = false, from_right = false, from_bottom = false;

  // Levels must equal Pillow's bit for bit; otherwise within one level.
  bool exact = false;

  bool given() const { return width > 0; }
  int seen_width() const { return transposed ? height : width; }
  int seen_height() const { return transposed ? width : height; }
};

// Reads a frame's stored rows as RGB with 4 bytes per pixel, or as grey.
class FrameRows final : public Rows {
 public:
  // Prepares for frames whose crop begins at that frame's column. `sums`: weighted sums of the planes are accurate
  // enough.
  void prepare(const Frame& frame, const Resizer& resizer, bool sums);
  // Starts at the first row of this frame. Allocates only for a larger frame than before.
  void begin(const Frame& frame, int channels);
  const uint8_t* row(int y, int begin, int end, uint8_t* room) override;
  bool sum(const Axis& rows, int n, uint8_t* line) override;

 private:
  struct Weights;
  void sum_block(const Axis& rows, int n);
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
  std::vector<uint8_t> clips_;  // per cell: bit i is set if colour i clips in any line
  int clipping_lines_ = 0;      // bit i: line i clips somewhere
  // kLanes lines of each plane: luma, U, V, and the clipping excess of red, green and blue. sums_ holds weighted sums
  // of rows with one sample per column (chroma: per two); outputs_ holds their results after the column pass.
  LineBuffer sums_, outputs_;
  int v_ = 0;  // first line of V
  LineBuffer colours_;
  std::vector<int16_t> both_;  // sums of interleaved chroma
  // ColumnsFirst: colours of filtered rows; the three lines of row y are at y modulo slots_.
  LineBuffer kept_;
  int slots_ = 0, next_ = 0;
};

// An RGB image as a frame.
Frame frame_of(const View& rgb);

}  // namespace ferry::image
