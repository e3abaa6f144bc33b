// What TFLite_Detection_PostProcess computes boxes from, for --detect.
#pragma once

#include <array>
#include <vector>

#include "converter/graph/graph.h"

namespace ferry::tflite {

struct DetectionHead {
  Tensor boxes;                                // [1,N,4]: y, x, height, width, relative to the anchors
  Tensor scores;                               // [1,N,classes], and the background before them if there is one
  std::vector<std::array<double, 4>> anchors;  // y, x, height, width of the image
  double centre_scale = 1, size_scale = 1;     // divide the numbers of a box
  int classes = 0;                             // without the background
  float threshold = 0, overlap = 0;
  int maximum = 0;        // boxes
  bool by_class = false;  // boxes of different classes do not suppress each other
};

}  // namespace ferry::tflite
