// Pillow's resize, bit for bit: what the frameworks' preprocessing calls, and what the published accuracies rest on.
#pragma once

#include <memory>
#include <vector>

#include "sdk/image/axis.h"
#include "sdk/image/pixels.h"

namespace ferry::image {

// The pass over an image's columns.
class ColumnPass {
 public:
  // Takes memory only where more is needed than before.
  void prepare(const Side& side, fbs::Filter filter, int channels);
  const Axis& axis() const { return axis_; }
  // Outputs [begin, end) from a row of which position `first` and what follows lies at `row`.
  void run(const uint8_t* row, int first, int begin, int end, uint8_t* target) const;

 private:
  Axis axis_;
  int channels_ = 0;
  std::vector<int32_t> spread_;
};

// Where rows come from.
class Rows {
 public:
  // Pixels [begin, end) of row `y`: in `room`, which has kSpare more, or where they lie; pixels of 4 bytes always in
  // `room`, for what follows them is read and not used.
  static constexpr int kSpare = 4;
  virtual const uint8_t* row(int y, int begin, int end, uint8_t* room) = 0;
  // All outputs of the columns for the nth output of `rows` in memory, computed from planes in the order for which it
  // is prepared; outputs are asked for one after the other. False: there is no faster way than row().
  virtual bool sum(const Axis& /*rows*/, int /*n*/, uint8_t* /*line*/) { return false; }

 protected:
  ~Rows() = default;
};

// Where lines go to.
class Lines {
 public:
  virtual void line(int at, const uint8_t* pixels) = 0;

 protected:
  ~Lines() = default;
};

// Both passes at once: a row is read once, and as many of them are kept as one output needs. What a pixel holds is 1 to
// 4 samples of 8 bits. Each pass rounds and clips to 8 bits, as Pillow does.
class Resizer {
 public:
  // Pillow's horizontal pass comes first; of an image that lies on its side that is the one over rows. SumsFirst: rows
  // first, both by Rows::sum(), for filters that do not overshoot.
  enum class Order { ColumnsFirst, RowsFirst, SumsFirst };

  // `columns` and `rows` of the image as it lies in memory. Takes memory only where more is needed than before.
  void prepare(const Side& columns, const Side& rows, Order order, fbs::Filter filter, int channels);
  // Gives a line for each of the outputs of `rows`, in the order in which they lie in memory, each with the outputs of
  // `columns`.
  void run(Rows& rows, Lines& lines);
  const Axis& columns() const { return columns_.axis(); }
  const Axis& rows() const { return rows_; }
  Order order() const { return order_; }

 private:
  bool rows_first() const { return order_ != Order::ColumnsFirst; }
  const uint8_t* narrow(const uint8_t* row, uint8_t* target) const;
  const uint8_t* line(Rows& rows, int n);
  const uint8_t* read(Rows& rows, int y, uint8_t* slot);

  ColumnPass columns_;
  Axis rows_;
  Order order_ = Order::ColumnsFirst;
  int channels_ = 0;
  int next_ = 0;     // row to be read
  size_t slot_ = 0;  // bytes
  // Row y's at y modulo rows_.taps(), and behind them those of one output.
  std::unique_ptr<const uint8_t*[]> kept_;
  std::vector<uint8_t> memory_;
  uint8_t *wide_ = nullptr, *narrow_ = nullptr;
};

// Scales `source` (1 to 4 channels) to width x height as Pillow's Image.resize does for 8-bit images.
Status resize(const View& source, int width, int height, fbs::Filter filter, Pixels* out);

}  // namespace ferry::image
