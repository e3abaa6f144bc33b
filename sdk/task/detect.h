// Boxes of a detector's outputs (sdk/schema/ferry.fbs, Task.Detection).
#pragma once

#include "sdk/task/task.h"

namespace ferry::task {

float area(const ferry_box& box);
// Intersection over union, 0 to 1.
float overlap(const ferry_box& a, const ferry_box& b);

// Runs the network and appends the objects that it finds to `answer`, best first, with their landmarks. Boxes are in
// the frame's pixels and may exceed it.
Status find_objects(Networks& networks, const image::Frame& frame, const fbs::Detection& params, Answer* answer);

// Clips boxes to the frame, removes empty ones, orders scores as boxes, and adds names and lines of the landmarks.
void finish_boxes(const image::Frame& frame, const fbs::Detection& params, Answer* answer);

}  // namespace ferry::task
