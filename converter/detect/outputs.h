// Interprets a graph's outputs as lists of a detector's rows.
#pragma once

#include <string>
#include <vector>

#include "converter/detect/detector_spec.h"
#include "converter/graph/graph.h"

namespace ferry::detect {

// The operator that computes an output, beyond moves and scaling by constants.
struct Origin {
  bool raw = false;  // convolution, matrix product or input
  bool sigmoid = false, softmax = false, other = false;
};

// An output as rows. append() changes the graph, planning does not.
struct OutputLevel {
  size_t port = 0;  // index among the graph's outputs
  std::string name;
  Layout layout = Layout::Last;
  bool map = false;  // has height and width, with `anchors` per position
  bool numbers_first = false;
  int anchors = 1;
  int rows = 0, width = 0;
};

// Adds what computes a tensor.
void find_origin(const Graph& graph, TensorId tensor, Origin* origin);

// A range of columns in all levels.
struct OutputColumns {
  std::string what;  // "boxes", for messages
  std::vector<OutputLevel> levels;
  int rows = 0;
  int begin = 0, size = 0;  // columns within the width, which all levels share
  Origin origin;

  Tensor append(Graph& graph) const;  // [1, rows, size]
};

// Throws Error that names `what` and the output if there is none or its shape differs. `anchors`: per position of a
// map, by level; the last one applies to all further levels. `detector`: prefix of messages.
OutputColumns choose(const Graph& graph, const ColumnSpec& columns, const std::vector<int>& anchors,
                     const std::string& detector, const char* what);

}  // namespace ferry::detect
