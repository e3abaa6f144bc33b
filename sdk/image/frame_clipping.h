// Where a frame's colours leave 0 to 255: there they are more than sums of luma and chroma.
#pragma once

#include <cstdint>
#include <vector>

namespace ferry::image {

struct Frame;

class Clipping {
 public:
  // Columns that are told apart.
  static constexpr int kCell = 32;
  // By how much red, green and blue leave 0 to 255, in levels with kSumBits after the point, weighted by kWeightBits;
  // less than black is negative.
  struct Excess {
    int32_t colours[3][kCell];
  };

  // Of columns [begin, end); `begin` is even. Takes memory only where a frame is larger than those before.
  void begin(const Frame& frame, int begin, int end);
  int cells() const { return (end_ - begin_ + kCell - 1) / kCell; }
  // Of the rows that share row `chroma_y` of chroma: which cells have a pixel that clips by more than is rounded; null
  // if none has. What was found is kept.
  const uint8_t* row(const Frame& frame, int chroma_y);
  // Adds a cell's rows [begin, end), which share a row of chroma.
  void add(const Frame& frame, int cell, int begin, int end, const int16_t* weights, Excess* excess) const;

 private:
  enum Row : uint8_t { kUnknown, kNone, kSome };

  void find(const Frame& frame, int chroma_y, uint8_t* cells) const;

  int begin_ = 0, end_ = 0;
  int top_ = 0;                 // the first row of chroma
  std::vector<uint8_t> found_;  // of each row of chroma: a Row, then whether the cells clip
};

}  // namespace ferry::image
