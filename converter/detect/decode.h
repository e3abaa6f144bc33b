// Appends the decoding of a detector's outputs to a graph: boxes, scores and landmarks of the schema's Task.Detection.
#pragma once

#include "converter/detect/anchors.h"
#include "converter/detect/outputs.h"

namespace ferry::detect {

// A detector resolved for one graph. Making it does not change the graph.
struct DecodingPlan {
  DetectorSpec spec;
  int height = 0, width = 0, channels = 0;  // of the input
  OutputColumns scores, boxes;
  std::optional<OutputColumns> objectness, landmarks;
  std::vector<Anchor> anchors;  // if boxes or landmarks are relative to them
  int classes = 0;              // without background
  int background = -1;          // index; -1: none
};

// Throws Error if the detector does not match the graph. `strict`: also checks how the boxes are computed, to choose
// among several detectors.
DecodingPlan plan_decoding(const Graph& graph, const DetectorSpec& spec, bool strict);

// Replaces the graph's outputs.
void append_decoding(Graph& graph, const DecodingPlan& plan);

}  // namespace ferry::detect
