// Landmarks of two networks: a detector finds objects, and a second network the points of each in a crop around it
// (sdk/schema/ferry.fbs, Task.Landmarks). MediaPipe's hands, faces and bodies are known: Zhang et al., "MediaPipe
// Hands", arXiv:2006.10214; Kartynnik et al., arXiv:1907.06724; Bazarevsky et al., "BlazePose", arXiv:2006.10204.
#pragma once

#include <string>

#include "converter/graph/graph.h"

namespace ferry::landmarks {

// Replaces the outputs of an imported network by points, scores and classes, and sets its preprocessing and labels.
// `detector` is one of detect::known_names(); `file` is for messages. Returns how crops are made of the boxes. Throws
// Error if no known network of that detector has these outputs.
fbs::LandmarksT make_point_finder(Graph& graph, const std::string& detector, const std::string& file);

// Adds the finished network as a graph of the detector and changes the detector's task.
void join(Graph& detector, Graph&& point_finder, fbs::LandmarksT params);

}  // namespace ferry::landmarks
