// An imported network becomes a detector: sdk/schema/ferry.fbs, Task.Detection. Whatever its head is, operators are
// appended that make boxes on 0..1 of it, so that decoding runs, like the network, on either backend.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "converter/graph/graph.h"
#include "converter/preprocessing/image_settings.h"

namespace ferry::detect {

struct Request {
  std::string recipe;   // a name of known_names(), or a file's (*.json); empty: one that is recognised by the outputs
  ImageSettings image;  // over the recipe's
  std::filesystem::path labels;  // class names, one a line; empty: the recipe's
};

// What was done, for people.
struct Detector {
  std::string recipe;
  bool recognised = false;
  int boxes = 0, classes = 0;
};

// Absent: no recipe was named, and none recognised; the graph is as it was. Throws Error where the recipe does not fit.
std::optional<Detector> make_detector(Graph& graph, const Request& request);

}  // namespace ferry::detect
