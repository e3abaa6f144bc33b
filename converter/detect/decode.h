// Appends to a graph what makes boxes, scores and landmarks of a detector's rows: the schema's Task.Detection.
#pragma once

#include "converter/detect/anchors.h"
#include "converter/detect/outputs.h"

namespace ferry::detect {

// All that a recipe's fields mean for one graph; nothing is added to it yet.
struct Plan {
  Recipe recipe;
  int height = 0, width = 0, channels = 0;  // of the input
  Chosen scores, boxes;
  std::optional<Chosen> objectness, landmarks;
  std::vector<Anchor> anchors;  // where boxes or landmarks start from them
  int classes = 0;              // without the background
  int background = -1;          // -1: there is none
};

// Throws Error where the recipe does not fit the graph. `strict`: of several recipes this may be the wrong one; then it
// must fit what computes the boxes, too.
Plan make_plan(const Graph& graph, const Recipe& recipe, bool strict);

// In the outputs' place.
void append_decoding(Graph& graph, const Plan& plan);

}  // namespace ferry::detect
