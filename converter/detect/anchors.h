// Anchor boxes and points of a detector.
#pragma once

#include <vector>

#include "converter/detect/detector_spec.h"

namespace ferry::detect {

// Anchor of a row: centre, size and stride, relative to the input (0..1).
struct Anchor {
  double x = 0, y = 0, width = 0, height = 0;
  double step_x = 0, step_y = 0;
};

// Number of anchors per position for each level; one element if all levels are equal.
std::vector<int> anchors_per_position(const DetectorSpec& spec);

// Creates one anchor per row. Partial cells at the border are included or excluded, whichever results in `rows`
// anchors. Throws Error if neither does.
std::vector<Anchor> make_anchors(const DetectorSpec& spec, int height, int width, int rows);

}  // namespace ferry::detect
