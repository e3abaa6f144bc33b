// Text detection: boxes of text lines from a map of text probabilities.
#pragma once

#include <vector>

#include "sdk/task/image.h"

namespace ferry::task {

struct Vector {
  float x = 0, y = 0;

  float length() const;
};

// A parallelogram around its centre. Text runs in the direction `along`; `down` points from its middle to the baseline
// side.
struct LineBox {
  Vector centre;
  Vector along, down;  // half of the sides

  // Corner i, in reading order: top left, top right, bottom right, bottom left.
  Vector corner(int i) const;
  // Rotates the reading direction by 90 degrees clockwise.
  void turn();
};

// Boxes in `map` (one channel), unordered, in cells from the top left corner. Each connected region above
// params.threshold gets its minimum-area rectangle, if its mean reaches params.box_threshold; the rectangle is grown by
// params.unclip (Liao et al., "Real-time Scene Text Detection with Differentiable Binarization", AAAI 2020). Small
// boxes, and those after the first kMaxLines, are dropped.
std::vector<LineBox> find_lines(const Grid& map, const fbs::Ocr& params);
inline constexpr size_t kMaxLines = 1000;

// Selects the reading direction of a rectangle: left to right, but downwards for nearly vertical lines.
void turn_upright(LineBox* box);

// Sorts boxes top to bottom; boxes in one row left to right.
void sort_as_read(std::vector<LineBox>* boxes);

}  // namespace ferry::task
