#include "converter/provenance.h"

#include <ferry/ferry.h>

#include <algorithm>

namespace ferry {
namespace {

constexpr std::string_view kExportable = "exportable", kKeepTaps = "keep-taps", kLabels = "labels",
                           kStorage = "weights", kStateDict = "state-dict", kDetect = "detect", kRead = "read",
                           kCharacters = "characters";

// "--name value", or "--name" without a value.
std::string to_text(const Setting& setting) {
  return "--" + setting.name + (setting.value.empty() ? "" : " " + setting.value);
}

Setting from_text(const std::string& text) {
  const size_t space = std::min(text.find(' '), text.size());
  if (!text.starts_with("--")) fail("the blob's provenance has the unknown option '%s'", text.c_str());
  return {text.substr(2, space - 2), text.substr(std::min(space + 1, text.size()))};
}

}  // namespace

void write_options(const ConvertOptions& options, fbs::ProvenanceT* provenance) {
  Settings given = options.settings;
  if (options.keep_taps) given.set(kKeepTaps);
  if (options.exportable) given.set(kExportable);
  if (!options.labels.empty()) given.set(kLabels);
  if (options.weights != "f32") given.set(kStorage, options.weights);
  if (!options.read.empty()) {
    given.set(kRead, options.read.filename().string());
    given.set(kCharacters, options.characters.filename().string());
  }
  provenance->options.clear();
  for (const auto& [name, value] : given.all()) {
    // Only the name of a file, as for the checkpoint.
    const bool recipe = name == kDetect;
    provenance->options.push_back(to_text({name, recipe ? std::filesystem::path(value).filename().string() : value}));
  }
  provenance->state_dict = options.state_dict;
  if (!options.source.empty()) provenance->source = options.source;
  provenance->converter = "ferry " + std::to_string(FERRY_VERSION_MAJOR) + "." + std::to_string(FERRY_VERSION_MINOR) +
                          "." + std::to_string(FERRY_VERSION_PATCH);
}

ConvertOptions read_options(const fbs::ProvenanceT& provenance) {
  ConvertOptions out;
  out.model = provenance.framework + "/" + provenance.variant;
  out.state_dict = provenance.state_dict;
  for (const std::string& text : provenance.options) {
    const Setting setting = from_text(text);
    if (setting.name == kKeepTaps) {
      out.keep_taps = true;
    } else if (setting.name == kStateDict) {
      out.state_dict = setting.value;  // as in blobs of 0.1
    } else if (setting.name != kExportable && setting.name != kLabels && setting.name != kStorage &&
               setting.name != kRead && setting.name != kCharacters) {
      out.settings.add(setting.name, setting.value);
    }
  }
  return out;
}

}  // namespace ferry
