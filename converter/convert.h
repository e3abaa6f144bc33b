// From a checkpoint on disk to a blob on disk: what `ferry convert` does.
//
//     ferry::ConvertOptions options;
//     options.checkpoint = "model.safetensors";
//     options.model = "resnet50";
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

#include "converter/detect/detector.h"
#include "converter/family.h"
#include "converter/pack/pack.h"

namespace ferry {

struct ConvertOptions {
  std::filesystem::path checkpoint;  // whatever open_checkpoint takes
  std::string source;                // where it is from, for the blob's provenance; empty: the file's name
  std::string state_dict;            // which dictionary of a PyTorch file; empty: as open_checkpoint chooses
  std::string
      model;  // variant: "resnet50", "resnet50.a1_in1k", "timm/resnet50.a1_in1k"; empty: found by config.json or keys
  std::filesystem::path output;
  // What the network's family understands (Family::settings()); of an ONNX file
  //   "shape": "input=1x3x224x224", once an input; "dynamic": a dimension that the blob leaves open, "batch" or
  //   "input:0"; "no-recognise": a recogniser to leave out, "gelu" or "all"; "detect": how its outputs become boxes, a
  //   detector's name, a file.json or "none"; "like": a variant whose images are prepared alike; and how images are
  //   prepared (converter/preprocessing/image_settings.h).
  Settings settings;
  std::string weights = "f32";  // storage of weights: "f32", "f16", "i8", "i4"
  // What of the checkpoint follows from no constant of the blob is kept in it, however large, so that
  // export_checkpoint() (converter/export/export.h) gives the checkpoint back; without it, if it is little.
  bool exportable = false;
  bool keep_taps = false;        // every tap survives, at the price of fusion
  bool dry_run = false;          // nothing is packed: Conversion says what would be, and nothing lies at `output`
  bool passes = true;            // false: the graph as the family builds it, for those who compare
  std::filesystem::path labels;  // class names, one a line; empty: the network's own
  // Of an ONNX file that finds lines of text: the one that reads a line, and the characters that its classes are, one a
  // line; both or none.
  std::filesystem::path read, characters;
  Certify certify;  // makes the blob's certificates (converter/pack/pack.h); absent: it gets none
  // Called between steps with what begins now ("reading", "building", "folding", "packing", "certifying") and how much
  // of the whole lies behind, 0..1.
  std::function<void(std::string_view step, double fraction)> progress;
};

// What was done, for a closing line.
struct Conversion {
  std::string family, variant, framework;
  size_t operators = 0, taps = 0, labels = 0;
  uint64_t bytes = 0;                 // of the blob; of a dry run's, without what is to give the checkpoint back
  std::unique_ptr<Graph> graph = {};  // of a dry run
  std::optional<detect::Detector> detector;
  std::vector<std::string> notes;  // sentences about what is left out, and what was assumed
};

// Throws Error with one sentence. Nothing is left at `output` then.
Conversion convert(Families families, const ConvertOptions& options);

// All but packing and writing: the finished graph as it would be packed. `output` is not read.
std::unique_ptr<Graph> convert_to_graph(Families families, const ConvertOptions& options);
// Its graphs before they share constants and states: the first one, then those that it would hold.
std::vector<std::unique_ptr<Graph>> convert_to_graphs(Families families, const ConvertOptions& options);

}  // namespace ferry
