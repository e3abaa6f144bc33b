// Converts a checkpoint or an ONNX file to a blob. `ferry convert` is a command around it.
//
//     ferry::ConvertOptions options;
//     options.checkpoint = "model.safetensors";
//     options.settings.set("model", "resnet50");
//     options.settings.set("input-size", "224x320");
//     options.output = "resnet50.ferry";
//     ferry::Conversion done = ferry::convert(ferry::families(), options);   // models/families.h
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "converter/family.h"
#include "converter/pack/pack.h"
#include "converter/source.h"

namespace ferry {

struct ConvertOptions {
  std::filesystem::path checkpoint;  // a file, or the folder of a checkpoint, in any format of converter/source.h
  std::string source;                // the origin that the blob's provenance records; empty: the file's name
  std::filesystem::path output;
  Settings settings;                     // options by name: common_options() and Source::options()
  std::filesystem::path calibrate = {};  // a text to round 4-bit weights by (converter/quantize/quantize_by_text.h)
  int threads = 0;                       // to calibrate with, as in SessionOptions; the blob does not depend on it
  bool dry_run = false;                  // writes no blob; Conversion describes it
  bool passes = true;                    // false: no pass changes the imported graph, to compare with
  Certify certify;          // makes the blob's certificates (converter/pack/pack.h); null: the blob has none
  ImportProgress progress;  // of "reading", "building", "folding", "calibrating", "packing", "recording", "certifying"
};

// The result, for messages.
struct Conversion {
  std::string family, variant, framework;
  size_t operators = 0, taps = 0, labels = 0;
  uint64_t bytes = 0;                 // of the blob; a dry run excludes the data that restores the checkpoint
  std::unique_ptr<Graph> graph = {};  // of a dry run
  std::optional<detect::Detector> detector{};
  std::vector<std::string> notes;    // sentences: what was left out, and what was assumed
  std::vector<std::string> details;  // the same, of what cannot matter: for a dry run
};

// Throws Error with one sentence. No file is left at `output` then.
Conversion convert(Families families, const ConvertOptions& options);

// Converts without packing: returns the graph that convert() would pack. `output` is not used.
std::unique_ptr<Graph> convert_to_graph(Families families, const ConvertOptions& options);
// As above, but before the graphs share constants and states: the first graph, then the graphs that it would hold.
std::vector<std::unique_ptr<Graph>> convert_to_graphs(Families families, const ConvertOptions& options);

}  // namespace ferry
