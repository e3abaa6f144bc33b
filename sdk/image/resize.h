// Pillow's resize, bit for bit: the frameworks' preprocessing uses it, and published accuracies depend on it.
#pragma once

#include <memory>
#include <vector>

#include "sdk/image/axis.h"
#include "sdk/image/pixels.h"

namespace ferry::image {

// The column pass: filters along a row.
class ColumnPass {
 public:
  // Allocates only to grow.
  void prepare(const Side& side, fbs::Filter filter, int channels);
  const Axis& axis() const { return axis_; }
  // Computes outputs [begin, end); `row` points to position `first`.
  void run(const uint8_t* row, int first, int begin, int end, uint8_t* target) const;

 private:
  Axis axis_;
  int channels_ = 0;
  std::vector<int32_t> spread_;
};

// The source of rows.
class Rows {
 public:
  // Pixels [begin, end) of row `y`: a pointer to the row itself, or to `room`, which has kSpare more bytes. Pixels of 4
  // bytes are always in `room`, because bytes past them are read.
  static constexpr int kSpare = 4;
  virtual const uint8_t* row(int y, int begin, int end, uint8_t* room) = 0;
  // Writes the complete nth output line of `rows` in memory order, computed from planes; called in ascending order.
  // False: not supported, use row().
  virtual bool sum(const Axis& /*rows*/, int /*n*/, uint8_t* /*line*/) { return false; }

 protected:
  ~Rows() = default;
};

// The receiver of output lines.
class Lines {
 public:
  virtual void line(int at, const uint8_t* pixels) = 0;

 protected:
  ~Lines() = default;
};

// Both passes together: each row is read once, and only the rows that one output needs are kept. A pixel has 1 to 4
// samples of 8 bits. Each pass rounds and clips to 8 bits, as in Pillow.
class Resizer {
 public:
  // Pillow's horizontal pass comes first; for an image rotated by 90 degrees this is the pass over rows. SumsFirst:
  // rows first, both passes in Rows::sum(), for filters that do not overshoot.
  enum class Order { ColumnsFirst, RowsFirst, SumsFirst };

  // `columns` and `rows` of the image as stored. Allocates only to grow.
  void prepare(const Side& columns, const Side& rows, Order order, fbs::Filter filter, int channels);
  // Outputs one line per output of `rows`, in memory order, with the outputs of `columns`.
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
  int next_ = 0;     // the next row to read
  size_t slot_ = 0;  // bytes per slot
  // Row y is at slot y modulo rows_.taps(); the slots are followed by the rows of one output.
  std::unique_ptr<const uint8_t*[]> kept_;
  std::vector<uint8_t> memory_;
  uint8_t *wide_ = nullptr, *narrow_ = nullptr;
};

// Resizes `source` (1 to 4 channels) to width x height, as Pillow's Image.resize for 8-bit images.
Status resize(const View& source, int width, int height, fbs::Filter filter, Pixels* out);

}  // namespace ferry::image
