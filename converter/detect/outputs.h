// What a graph's outputs are to a detector: lists of rows.
#pragma once

#include <string>
#include <vector>

#include "converter/detect/recipe.h"
#include "converter/graph/graph.h"

namespace ferry::detect {

// What computes numbers, but for what only moves or scales them by constants.
struct Origin {
  bool raw = false;  // a convolution, a product, an input
  bool sigmoid = false, softmax = false, other = false;
};

// An output as rows, planned: nothing is added to the graph before append().
struct Source {
  size_t port = 0;  // among the graph's outputs
  std::string name;
  Layout layout = Layout::Last;
  bool map = false;  // it has height and width, and `anchors` at each place
  bool numbers_first = false;
  int anchors = 1;
  int rows = 0, width = 0;
};

// A part of all levels.
struct Chosen {
  std::string what;  // "boxes", for messages
  std::vector<Source> levels;
  int rows = 0;
  int begin = 0, size = 0;  // of the width, which all levels have
  Origin origin;

  Tensor append(Graph& graph) const;  // [1, rows, size]
};

// Throws Error, naming what and output, where there is none or it is of another shape. `anchors`: a place of a map has,
// level by level; the last of them goes for all further ones. `recipe`: begins messages.
Chosen choose(const Graph& graph, const Part& part, const std::vector<int>& anchors, const std::string& recipe,
              const char* what);

}  // namespace ferry::detect
