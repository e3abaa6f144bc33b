// The entry point of the converter: detects a file's format, lists the options of that format, and imports graphs.
//
//     const Source& source = source_of("net.onnx");   // by content; throws if no format matches
//     ImportedNetwork network = source.import({.families = families(), .path = "net.onnx", .settings = given});
//
// A format is a folder of converter/ with a Source in its source.cc, and a row of sources(). Commands, checks and
// provenance have no code for a particular format.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "converter/detect/detector.h"
#include "converter/export/record.h"
#include "converter/family.h"
#include "converter/option.h"
#include "converter/refused.h"

namespace ferry {

// Called at the start of each step, with the fraction of the work that is done, 0..1.
using ImportProgress = std::function<void(std::string_view step, double fraction)>;

struct ImportRequest {
  Families families;
  std::filesystem::path path;
  Settings settings;   // options by name, checked by check_options()
  bool passes = true;  // false: no pass changes the imported graphs
  ImportProgress progress = {};
  bool digest = true;  // false: the provenance has no SHA-256 of the file, which need not be read whole
};

struct ImportedNetwork {
  // The blob's graphs with inputs, outputs and preprocessing. The first has provenance: family, variant, framework,
  // file name and SHA-256.
  std::vector<std::unique_ptr<Graph>> graphs;
  std::vector<std::string> notes;              // sentences: what was left out, and what was assumed
  std::vector<std::string> details{};          // the same, of what cannot matter: a dry run prints them
  std::optional<detect::Detector> detector{};  // whose post-processing computes the outputs, boxes
  Converted checkpoint = {};                   // for `ferry export`; empty: the file cannot be restored
  bool integers = false;                       // the file has weights that may be kept (Encoding::has_integers)
};

// The description of a file before conversion, for `ferry inspect`.
struct Outline {
  std::string producer;
  int opset = 0;  // version of the operator set; 0: the format has none
  std::map<std::string, int> operators;
  uint64_t parameters = 0;
  std::unique_ptr<Graph> graph;  // null if the file cannot be converted
  std::vector<Reason> refused;   // why the file cannot be converted; empty if it can
};

struct Source {
  const char* name;     // "a checkpoint"
  const char* plural;   // "checkpoints"
  const char* formats;  // "safetensors, PyTorch, TensorFlow.js"
  // The family that the provenance records. Null: a model family builds the graph.
  const char* family;
  // Checks the content. Accepts damaged files, so that the format's reader describes the damage.
  bool (*recognises)(const MappedFile& file);
  bool folders;                          // also accepts a folder that contains a checkpoint
  std::span<const Option> (*options)();  // in addition to common_options()
  // Throws Refused with all reasons, or Error.
  ImportedNetwork (*import)(const ImportRequest& request);
  // Null if the format has no description before conversion.
  Outline (*outline)(const std::filesystem::path& path, const Settings& settings);
  // The file's weights by their names, to compare them with a blob's and a fixture's.
  std::shared_ptr<const Checkpoint> (*weights)(Families families, const std::filesystem::path& path,
                                               const Settings& settings);
};

std::span<const Source> sources();

// Null if no format matches. Throws Error if the file cannot be opened.
const Source* find_source(const std::filesystem::path& path);
// Throws Error if no format matches. The message names the file's actual format and a remedy, if known.
const Source& source_of(const std::filesystem::path& path);

// Searches the common options, then those of every format. Null without one.
const Option* find_option(std::string_view name);
// The formats that accept an option, "ONNX files and TensorFlow Lite files"; empty for common options.
std::string formats_with(std::string_view option);
// The last value of an option, or its default (Option::absent).
std::string value_of(const Settings& given, std::string_view option);

// Throws Error for an unknown option and for an invalid value, whatever the format.
void check_values(const Settings& given, Families families);
// Throws Error for an option of another format.
void check_options(const Source& source, const std::filesystem::path& path, const Settings& given);

}  // namespace ferry
