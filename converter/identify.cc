#include "converter/identify.h"

#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "converter/checkpoint/json.h"
#include "converter/timm_config.h"

namespace ferry {
namespace {

bool fits(const Naming& naming, const Checkpoint& checkpoint) {
  for (const std::string& key : naming.probes)
    if (!checkpoint.tensors().contains(key)) return false;
  return true;
}

// The naming that the checkpoint bears: that of `framework` where several fit, else the first.
const Naming* naming_of(const Family& family, const Checkpoint& checkpoint, const std::string& framework) {
  const Naming* first = nullptr;
  for (const Naming& naming : family.namings()) {
    if (!fits(naming, checkpoint)) continue;
    if (naming.framework == framework) return &naming;
    if (!first) first = &naming;
  }
  return first;
}

// Is `model` a name of this variant? `whole`: of this variant alone, not of its architecture.
bool is_called(const Variant& variant, const std::string& model, bool whole) {
  const std::string name = whole ? variant.name() : variant.architecture;
  return model == name || model == variant.framework + "/" + name || (whole && model == variant.hub);
}

// The default of an architecture: of the framework whose names the checkpoint bears, else the first.
const Variant* default_variant(const Family& family, const Checkpoint& checkpoint, const std::string& architecture) {
  const Naming* naming = naming_of(family, checkpoint, "");
  const Variant* first = nullptr;
  for (const Variant& variant : family.variants()) {
    if (variant.architecture != architecture) continue;
    if (naming && variant.framework == naming->framework) return &variant;
    if (!first) first = &variant;
  }
  return first;
}

Identified with_naming(const Family& family, const Variant& variant, const Checkpoint& checkpoint) {
  const Naming* naming = naming_of(family, checkpoint, variant.framework);
  if (naming) return {&family, &variant, naming};
  std::string frameworks, example;
  for (const Naming& known : family.namings()) {
    if (frameworks.find(known.framework) != frameworks.npos) continue;
    frameworks += (frameworks.empty() ? "" : ", ") + known.framework;
    if (known.framework == variant.framework) example = known.probes.front();
  }
  fail("%s: the keys are not those of a %s (%s): there is no '%s', for example",
       checkpoint.path().filename().string().c_str(), family.name, frameworks.c_str(), example.c_str());
}

// Does the variant's network use exactly the checkpoint's keys, with their shapes? Its class count is the checkpoint's,
// if it has any.
bool holds(const std::shared_ptr<const Checkpoint>& checkpoint, const Family& family, const Variant& variant,
           const Naming& naming, std::string* why_not) {
  try {
    Graph graph;
    Ledger ledger(checkpoint, naming, Ledger::Mode::Try);
    BuildOptions options{.variant = variant, .height = variant.height, .width = variant.width};
    if (variant.num_classes == 0) options.num_classes = 0;
    family.build(graph, Weights(graph, ledger), options);
    ledger.finish();
    return true;
  } catch (const Error& error) {
    *why_not = error.what();
    return false;
  }
}

// The training that the config names where it is known, else the first of its architecture.
Identified by_timm_config(const Checkpoint& checkpoint, const nlohmann::json& config) {
  const auto architecture = config["architecture"].get<std::string>();
  const nlohmann::json pretrained = config.value("pretrained_cfg", nlohmann::json::object());
  const std::string tag = pretrained.is_object() ? pretrained.value("tag", "") : "";
  const Family* its_family = nullptr;
  const Variant* chosen = nullptr;
  for (const Family& family : families()) {
    for (const Variant& variant : family.variants()) {
      if (variant.architecture != architecture || variant.framework != "timm") continue;
      if (chosen && variant.tag != tag) continue;
      its_family = &family;
      chosen = &variant;
      if (variant.tag == tag) return with_naming(*its_family, *chosen, checkpoint);
    }
  }
  if (!chosen)
    fail("config.json beside %s says that it is timm's %s, which is not known here: `ferry models` lists what is",
         checkpoint.path().filename().string().c_str(), in_quotes(architecture).c_str());
  return with_naming(*its_family, *chosen, checkpoint);
}

Identified by_config(const Checkpoint& checkpoint, const nlohmann::json& config) {
  try {
    if (is_timm_config(config)) return by_timm_config(checkpoint, config);
    for (const Family& family : families()) {
      const std::string architecture = family.architecture_of ? family.architecture_of(config) : "";
      if (architecture.empty()) continue;
      for (const Variant& variant : family.variants())
        if (variant.architecture == architecture && variant.framework == "transformers")
          return with_naming(family, variant, checkpoint);
    }
  } catch (const nlohmann::json::exception& error) {
    fail("config.json beside %s: %s", checkpoint.path().filename().string().c_str(), error.what());
  }
  return {};
}

}  // namespace

nlohmann::json read_config(const Checkpoint& checkpoint, const char* name) {
  const std::filesystem::path path = checkpoint.path().parent_path() / name;
  std::ifstream file(path, std::ios::binary);
  if (!file) return nullptr;
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return parse_json(text, path.string());
}

Identified identify(const Checkpoint& checkpoint, const std::string& model) {
  for (const bool whole : {true, false}) {
    for (const Family& family : families()) {
      for (const Variant& variant : family.variants()) {
        if (!is_called(variant, model, whole)) continue;
        const bool placed = model.find('/') != model.npos;
        // A bare "resnet50" is not timm's where the checkpoint bears transformers' names.
        const Variant& chosen =
            placed || (whole && !variant.tag.empty()) ? variant : *default_variant(family, checkpoint, model);
        return with_naming(family, chosen, checkpoint);
      }
    }
  }
  fail("no model is called '%s': `ferry models` lists those known", model.c_str());
}

Identified identify(const std::shared_ptr<const Checkpoint>& checkpoint) {
  const nlohmann::json config = read_config(*checkpoint);
  if (config.is_object())
    if (const Identified found = by_config(*checkpoint, config); found.family) return found;

  std::map<std::string, Identified> found;  // by architecture
  std::string tried, why_not;
  std::set<std::pair<std::string, bool>> seen;
  for (const Family& family : families()) {
    const Naming* naming = naming_of(family, *checkpoint, "");
    if (!naming) continue;
    tried = family.name;
    // Those without a classifier leave one aside that the checkpoint has: they come last.
    for (const bool classifies : {true, false}) {
      for (const Variant& variant : family.variants()) {
        if (variant.framework != naming->framework || (variant.num_classes > 0) != classifies ||
            found.contains(variant.architecture) || !seen.insert({variant.architecture, classifies}).second)
          continue;
        if (holds(checkpoint, family, variant, *naming, &why_not))
          found[variant.architecture] = {&family, &variant, naming};
      }
    }
  }
  const std::string file = checkpoint->path().filename().string();
  if (found.size() == 1) return found.begin()->second;
  if (found.size() > 1) {
    std::string candidates;
    for (const auto& [architecture, candidate] : found) candidates += (candidates.empty() ? "" : ", ") + architecture;
    fail("%s fits several models: say which with --model: %s", file.c_str(), candidates.c_str());
  }
  if (!tried.empty())
    fail("%s has the keys of a %s, but fits none that is known here (the last one tried: %s): say which with --model",
         file.c_str(), tried.c_str(), why_not.c_str());
  fail("%s has the keys of no model known here: `ferry models` lists them", file.c_str());
}

}  // namespace ferry
