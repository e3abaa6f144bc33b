#include "converter/provenance.h"

#include <ferry/ferry.h>

#include <algorithm>

namespace ferry {
namespace {

// "--name value", or "--name" alone.
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
  provenance->options.clear();
  for (const auto& [name, value] : options.settings.all()) {
    const Option* option = find_option(name);
    if (option && !option->absent.empty() && value == option->absent) continue;
    switch (option ? option->records : Option::Records::Value) {
      case Option::Records::Nothing: break;
      case Option::Records::Name: provenance->options.push_back(to_text({name, ""})); break;
      case Option::Records::FileName:
        provenance->options.push_back(to_text({name, std::filesystem::path(value).filename().string()}));
        break;
      case Option::Records::Value: provenance->options.push_back(to_text({name, value})); break;
    }
  }
  provenance->state_dict = options.settings.text("state-dict");
  if (!options.source.empty()) provenance->source = options.source;
  provenance->converter = "ferry " + std::to_string(FERRY_VERSION_MAJOR) + "." + std::to_string(FERRY_VERSION_MINOR) +
                          "." + std::to_string(FERRY_VERSION_PATCH);
}

ConvertOptions read_options(const fbs::ProvenanceT& provenance) {
  ConvertOptions out;
  const auto is_of = [&](const Source& source) { return source.family && source.family == provenance.family; };
  if (std::none_of(sources().begin(), sources().end(), is_of))
    out.settings.set("model", provenance.framework + "/" + provenance.variant);
  if (!provenance.state_dict.empty()) out.settings.set("state-dict", provenance.state_dict);
  for (const std::string& text : provenance.options) {
    const Setting setting = from_text(text);
    const Option* option = find_option(setting.name);
    if (option != nullptr && !option->rebuilds) continue;
    // Blobs of 0.1 record --state-dict here as well.
    if (option != nullptr && !option->repeats()) {
      out.settings.set(setting.name, setting.value);
    } else {
      out.settings.add(setting.name, setting.value);
    }
  }
  return out;
}

}  // namespace ferry
