// The pass over a frame's columns in luma and chroma, so that what it leaves alone need become colours.
#pragma once

#include <vector>

#include "sdk/image/axis.h"

namespace ferry::image {

struct Block;

// Luma, U, V and a number without meaning for each output; bits as in a Block.
struct Filtered {
  static constexpr int kOutputs = 128;
  int16_t samples[4 * kOutputs];
};

class PlaneColumns {
 public:
  // Outputs side by side, and the frame's columns that count for any of them, from an even one on.
  struct Group {
    int begin, end;
    int first, last;
  };
  // The most columns of a group.
  static constexpr int kSegment = 128, kRoom = kSegment + 2;

  // For frames whose part begins at column `left`. Takes memory only where more is needed than before.
  void prepare(const Axis& axis, int left);
  // None: an output's window is too wide.
  const std::vector<Group>& groups() const { return groups_; }
  // `planes` begins with the group's first column.
  void run(const Block& planes, const Group& group, Filtered* out) const;

 private:
  size_t entry_size() const { return 2 + luma_taps_ + chroma_taps_; }

  size_t luma_taps_ = 0, chroma_taps_ = 0;  // up to a vector's end
  std::vector<Group> groups_;
  // Of an output: where its luma begins in its group, where its chroma does, and their weights with 15 bits.
  std::vector<int16_t> entries_;
};

}  // namespace ferry::image
