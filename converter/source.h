// The front door of the converter: what a file is, which options it understands, and the graphs that it becomes.
//
//     const Source& source = source_of("net.onnx");   // by content; throws for what no format reads
//     ImportedNetwork network = source.import({.families = families(), .path = "net.onnx", .settings = given});
//
// A format is a folder of converter/ with its Source in source.cc, and a row of sources(). Commands, checks and
// provenance do not know the formats: they ask here.
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

// Called between steps with what begins now and how much of the whole lies behind, 0..1.
using ImportProgress = std::function<void(std::string_view step, double fraction)>;

struct ImportRequest {
  Families families;
  std::filesystem::path path;
  Settings settings;   // options by name, checked by check_options()
  bool passes = true;  // false: the graphs as they are imported
  ImportProgress progress = {};
};

struct ImportedNetwork {
  // The blob's graphs with inputs, outputs and preprocessing. The first has provenance: family, variant, framework,
  // the file and its SHA-256.
  std::vector<std::unique_ptr<Graph>> graphs;
  std::vector<std::string> notes;              // sentences about what is left out, and what was assumed
  std::optional<detect::Detector> detector{};  // the outputs became boxes by this recipe
  Converted checkpoint = {};                   // what `ferry export` restores; none: nothing can be restored
};

// What `ferry inspect` prints of a file that is not converted.
struct Outline {
  std::string producer;
  int opset = 0;  // version of its operators
  std::map<std::string, int> operators;
  uint64_t parameters = 0;
  std::unique_ptr<Graph> graph;  // null if it is refused
  std::vector<Reason> refused;   // why it cannot be converted; empty: it can
};

struct Source {
  const char* name;     // "a checkpoint"
  const char* plural;   // "checkpoints"
  const char* formats;  // "safetensors, PyTorch, TensorFlow.js"
  // The provenance's family; null: one of the families builds the network, so that it can be built again to compare.
  const char* family;
  // By content. Damaged files are recognised as well, so that the reader describes the damage.
  bool (*recognises)(const MappedFile& file);
  bool folders;  // reads folders
  // The options that it understands beside common_options().
  std::span<const Option> (*options)();
  // Throws Refused with every reason, or Error.
  ImportedNetwork (*import)(const ImportRequest& request);
  Outline (*outline)(const std::filesystem::path& path, const Settings& settings);  // null: nothing before conversion
};

std::span<const Source> sources();

// Null: no format reads it. Throws Error if the file cannot be opened.
const Source* find_source(const std::filesystem::path& path);
// Throws Error that says what the file is instead, and what to do.
const Source& source_of(const std::filesystem::path& path);

// Of any format, or common. Null: there is none.
const Option* find_option(std::string_view name);

// Throws Error for values that cannot be, whatever the source.
void check_values(const Settings& given, Families families);
// Throws Error for an option that the source does not understand.
void check_options(const Source& source, const std::filesystem::path& path, const Settings& given);

}  // namespace ferry
