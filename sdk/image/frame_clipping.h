// Finds where a frame's colours leave 0 to 255. Weighted sums of luma and chroma are wrong there and need a correction.
#pragma once

#include <cstdint>
#include <vector>

namespace ferry::image {

struct Frame;

class Clipping {
 public:
  // Clipping is recorded per cell of kCell columns and group of kGroup chroma rows.
  static constexpr int kCell = 32, kGroup = 2;
  // What chroma adds to red, green and blue, in luma steps, and the luma range in which a pixel with neutral chroma is
  // within half a level of black or white; all with kSumBits fractional bits. Chroma adds no more than luma's full
  // range, so 16 bits suffice.
  struct Steps {
    int16_t red_v = 0, green_u = 0, green_v = 0, blue_u = 0;
    int16_t darkest = 0, lightest = 0;
  };

  // Starts a frame, columns [begin, end); `begin` is even. Allocates only for a larger frame than before.
  void begin(const Frame& frame, int begin, int end);
  int cells() const { return (end_ - begin_ + kCell - 1) / kCell; }
  int group_of(int chroma_y) const { return (chroma_y - top_) / kGroup; }
  // The first chroma row of a group.
  int chroma_of(int group) const { return top_ + group * kGroup; }
  // The cells of a group that may contain pixels that clip by more than rounding, one byte per cell, eight in each
  // word; null if none. Results are cached.
  const uint64_t* group(const Frame& frame, int group);
  int words() const { return (cells() + 7) / 8; }
  static bool has(const uint64_t* group, int cell) { return reinterpret_cast<const uint8_t*>(group)[cell] != 0; }
  // Adds to `sums` by how much red, green and blue of a cell leave 0 to 255 in the weighted sum of rows [begin, end),
  // kCell samples each. Values are levels with kSumBits fractional bits, negative below black. Returns the colours that
  // clip: bit 0 is red.
  int add(const Frame& frame, int cell, int begin, int end, const int16_t* weights, int16_t* const* sums) const;

 private:
  enum Group : uint64_t { kUnknown, kNone, kSome };

  void find(const Frame& frame, int group, uint8_t* found) const;

  int begin_ = 0, end_ = 0;
  int top_ = 0;                  // first chroma row
  std::vector<uint64_t> found_;  // per group: a Group, then the cells' results
  Steps steps_;
};

}  // namespace ferry::image
