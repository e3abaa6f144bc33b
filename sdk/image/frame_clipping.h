// Where a frame's colours leave 0 to 255: there they are more than sums of luma and chroma.
#pragma once

#include <cstdint>
#include <vector>

namespace ferry::image {

struct Frame;

class Clipping {
 public:
  // Columns that are told apart, and rows of chroma that are not.
  static constexpr int kCell = 32, kGroup = 2;
  // What chroma adds to red, green and blue, in steps of luma, and the luma with which a pixel that chroma adds nothing
  // to is within half a level of black and of white, all with kSumBits after the point. Chroma adds no more than luma
  // can have, so nothing that is computed of it leaves 0 to 255.
  struct Steps {
    int16_t red_v = 0, green_u = 0, green_v = 0, blue_u = 0;
    int16_t darkest = 0, lightest = 0;
  };

  // Of columns [begin, end); `begin` is even. Takes memory only where a frame is larger than those before.
  void begin(const Frame& frame, int begin, int end);
  int cells() const { return (end_ - begin_ + kCell - 1) / kCell; }
  int group_of(int chroma_y) const { return (chroma_y - top_) / kGroup; }
  // The first row of a group's chroma.
  int chroma_of(int group) const { return top_ + group * kGroup; }
  // Which cells of a group may have a pixel that clips by more than is rounded, eight of them in a number; null if none
  // may. What was found is kept.
  const uint64_t* group(const Frame& frame, int group);
  int eights() const { return (cells() + 7) / 8; }
  static bool has(const uint64_t* group, int cell) { return reinterpret_cast<const uint8_t*>(group)[cell] != 0; }
  // By how much red, green and blue of a cell leave 0 to 255 in the weighted sum of rows [begin, end), in levels with
  // kSumBits after the point; less than black is negative. kCell samples of each, to which it is added. Gives the
  // colours that do: bit 0 is red.
  int add(const Frame& frame, int cell, int begin, int end, const int16_t* weights, int16_t* const* sums) const;

 private:
  enum Group : uint64_t { kUnknown, kNone, kSome };

  void find(const Frame& frame, int group, uint8_t* found) const;

  int begin_ = 0, end_ = 0;
  int top_ = 0;                  // the first row of chroma
  std::vector<uint64_t> found_;  // of each group: a Group, then whether the cells clip
  Steps steps_;
};

}  // namespace ferry::image
