// MoveNet for one person (Votel and Li, "Next-Generation Pose Detection with MoveNet and TensorFlow.js", 2021): one
// output [1,1,17,3] of y, x and score, for the points of COCO.
#pragma once

#include <optional>

#include "converter/detect/decode.h"

namespace ferry::detect {

inline constexpr const char* kMoveNet = "movenet";

// Replaces the output by those of a detector that finds one person: a box around the points, with the mean of their
// scores. Returns nothing, and leaves the graph unchanged, if it is another network.
std::optional<DecodingPlan> make_movenet(Graph& graph);

}  // namespace ferry::detect
