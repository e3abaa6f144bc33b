// Imports a .tflite file into the converter's graph. Layouts are unchanged: activations are N,H,W,C in both.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "converter/graph/graph.h"
#include "converter/refused.h"
#include "converter/tflite/detection_head.h"
#include "converter/tflite/file.h"

namespace ferry::tflite {

struct ImportOptions {
  bool taps = false;  // names every computed value, for parity
};

struct Imported {
  std::unique_ptr<Graph> graph;                      // without provenance
  std::vector<std::string> notes;                    // sentences: what differs from the interpreter
  std::optional<DetectionHead> detection_head = {};  // of TFLite_Detection_PostProcess
};

// Throws Refused with all reasons. Inputs and outputs have the names of the first signature, or of their tensors.
Imported import_file(const File& file, const ImportOptions& options);

}  // namespace ferry::tflite
