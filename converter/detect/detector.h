// Makes a detector of an imported network (sdk/schema/ferry.fbs, Task.Detection). Appends operators that decode the
// head's outputs to boxes relative to the input (0..1), so that decoding runs on either backend.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "converter/detect/detector_spec.h"
#include "converter/graph/graph.h"
#include "converter/preprocessing/image_settings.h"

namespace ferry::detect {

struct DetectorRequest {
  std::string detector;          // one of known_names(), or a file (*.json); empty: recognised by the outputs
  ImageSettings image;           // overrides the detector's
  std::filesystem::path labels;  // class names, one per line; empty: the detector's
};

// The result, for messages.
struct Detector {
  std::string name;
  bool recognised = false;
  int boxes = 0, classes = 0;
};

// Of this kind. Throws Error if it does not match the graph.
Detector make_detector(Graph& graph, const DetectorSpec& spec, const DetectorRequest& request);

// Returns nothing, and leaves the graph unchanged, if no detector was named and none was recognised. Throws Error if
// the detector does not match the graph.
std::optional<Detector> make_detector(Graph& graph, const DetectorRequest& request);

}  // namespace ferry::detect
