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

#include "converter/family.h"
#include "converter/pack/pack.h"
#include "converter/source.h"

namespace ferry {

struct ConvertOptions {
  std::filesystem::path checkpoint;  // what a source reads (converter/source.h): a file, or a checkpoint's folder
  std::string source;                // where it is from, for the blob's provenance; empty: the file's name
  std::filesystem::path output;
  bool dry_run = false;     // nothing is packed: Conversion says what would be, and nothing lies at `output`
  bool passes = true;       // false: the graph as it is imported, for those who compare
  Certify certify;          // makes the blob's certificates (converter/pack/pack.h); absent: it gets none
  ImportProgress progress;  // of "reading", "building", "folding", "packing", "certifying"

  // The source's options by name: Source::options(). Some have a field of their own:
  Settings settings;
  std::string model;             // variant: "resnet50", "timm/resnet50.a1_in1k"; empty: found by config.json or keys
  std::string state_dict;        // which dictionary of a PyTorch file; empty: as open_checkpoint chooses
  std::string weights = "f32";   // storage of weights: "f32", "f16", "i8", "i4"
  std::filesystem::path labels;  // class names, one a line; empty: the network's own
  std::filesystem::path read, characters;  // of an ONNX file that finds lines of text: the one that reads a line
  bool exportable = false;                 // whatever export_checkpoint() needs is kept, however large
  bool keep_taps = false;                  // every tap survives, at the price of fusion

  // Every option that was given, by name, whether it has a field or not.
  Settings given() const;
  // The same as from the command line. A flag's value is empty.
  void give(const std::string& name, const std::string& value);
};

// What was done, for a closing line.
struct Conversion {
  std::string family, variant, framework;
  size_t operators = 0, taps = 0, labels = 0;
  uint64_t bytes = 0;                 // of the blob; of a dry run's, without what is to give the checkpoint back
  std::unique_ptr<Graph> graph = {};  // of a dry run
  std::optional<detect::Detector> detector{};
  std::vector<std::string> notes;  // sentences about what is left out, and what was assumed
};

// Throws Error with one sentence. Nothing is left at `output` then.
Conversion convert(Families families, const ConvertOptions& options);

// All but packing and writing: the finished graph as it would be packed. `output` is not read.
std::unique_ptr<Graph> convert_to_graph(Families families, const ConvertOptions& options);
// Its graphs before they share constants and states: the first one, then those that it would hold.
std::vector<std::unique_ptr<Graph>> convert_to_graphs(Families families, const ConvertOptions& options);

}  // namespace ferry
