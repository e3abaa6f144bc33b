// Where lines of text lie, of a map that says how probable text is at each place.
#pragma once

#include <vector>

#include "sdk/task/image.h"

namespace ferry::task {

struct Vector {
  float x = 0, y = 0;

  float length() const;
};

// A parallelogram around its centre: the line is read along `along`, and `down` goes from its middle to its foot.
struct LineBox {
  Vector centre;
  Vector along, down;  // half its sides

  // The top left, top right, bottom right and bottom left corner, as it is read: i is 0 to 3.
  Vector corner(int i) const;
  // By a quarter, clockwise.
  void turn();
};

// The boxes of `map`, one channel, in its cells from the top left corner on, in no order: around each connected region
// above params.threshold the smallest rectangle, where its mean reaches params.box_threshold, grown as params.unclip
// says (Liao et al., "Real-time Scene Text Detection with Differentiable Binarization", AAAI 2020). Small ones are
// left out, and all after the first kMaxLines.
std::vector<LineBox> find_lines(const Grid& map, const fbs::Ocr& params);
inline constexpr size_t kMaxLines = 1000;

// Which side of a rectangle is the line, and which end its beginning: read from left to right, but for lines that are
// as good as upright, which are read downwards.
void turn_upright(LineBox* box);

// From top to bottom; boxes beside each other are a row, which goes from left to right.
void sort_as_read(std::vector<LineBox>* boxes);

}  // namespace ferry::task
