// Imports a .tflite file into the converter's graph. Layouts are unchanged: activations are N,H,W,C in both.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "converter/file_options.h"
#include "converter/graph/graph.h"
#include "converter/refused.h"
#include "converter/tflite/detection_head.h"
#include "converter/tflite/file.h"

namespace ferry::tflite {

struct ImportOptions {
  TapRequest taps = {};     // values that keep their names, for parity
  InputShapes shapes = {};  // of inputs, in place of the file's
};

struct Imported {
  std::unique_ptr<Graph> graph;                      // without provenance
  std::vector<std::string> notes;                    // sentences: what differs from the interpreter
  std::optional<DetectionHead> detection_head = {};  // of TFLite_Detection_PostProcess
};

// Throws Refused with all reasons, or Error for an option that does not fit the file. Inputs and outputs have the names
// of the first signature, or of their tensors.
Imported import_file(const File& file, const ImportOptions& options);

}  // namespace ferry::tflite
