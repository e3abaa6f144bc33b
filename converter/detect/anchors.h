// The boxes, or points, that a detector's rows start from.
#pragma once

#include <vector>

#include "converter/detect/recipe.h"

namespace ferry::detect {

// A row's: centre and size on 0..1 of the input, and what one of its stride is there.
struct Anchor {
  double x = 0, y = 0, width = 0, height = 0;
  double step_x = 0, step_y = 0;
};

// Anchors at each place of a level; one number where all levels have as many.
std::vector<int> anchors_per_place(const Recipe& recipe);

// One for each of `rows`, in their order. Cells that the input does not fill count, or do not: as many as there are
// rows. Throws Error where neither gives so many.
std::vector<Anchor> make_anchors(const Recipe& recipe, int height, int width, int rows);

}  // namespace ferry::detect
