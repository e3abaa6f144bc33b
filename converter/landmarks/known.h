// The table of known networks that find points.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ferry_generated.h"

namespace ferry::landmarks {

struct Network {
  const char* detector;   // one of detect::known_names()
  int rows, columns;      // of the output with the points; x and y, in pixels of the input, come first in a row
  int points;             // the rows that are points; others serve tracking
  int visibility = -1;    // the column with the logit of the probability that a point is visible
  bool heatmaps = false;  // an output [1,h,w,rows] with the logits of each point's place refines the points
  bool handed = false;    // the second output of one element is the probability of the first label
  // Further outputs in this order, x and y each: the points that they refine or add. Later ones win.
  std::vector<std::vector<int>> refinements = {};
  std::vector<std::string> labels;
  std::vector<std::string> names = {};    // of the points
  std::vector<std::vector<int>> lines{};  // polylines through points
  float angle, scale, shift_y = 0;        // of the crop: fbs::Landmarks
  int start, end;
  bool around_start = false;
};

std::span<const Network> known_networks();

}  // namespace ferry::landmarks
