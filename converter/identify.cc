#include "converter/identify.h"

#include <map>
#include <nlohmann/json.hpp>

#include "converter/checkpoint/json.h"

namespace ferry {
namespace {

using nlohmann::json;
using Trial = Request::Trial;

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

// "f37072fd" of "resnet18-f37072fd.pth": torchvision calls its files so, by the first digits of their SHA-256. Empty:
// the name has none.
std::string digits_in(const std::string& file) {
  constexpr size_t kDigits = 8, kEnd = kDigits + 4;
  if (file.size() <= kEnd || file[file.size() - kEnd - 1] != '-' || !file.ends_with(".pth")) return {};
  const std::string digits = file.substr(file.size() - kEnd, kDigits);
  return digits.find_first_not_of("0123456789abcdef") == digits.npos ? digits : std::string();
}

bool called_as_torchvision_does(const std::string& file, const std::string& architecture) {
  const std::string digits = digits_in(file);
  return !digits.empty() && file == architecture + "-" + digits + ".pth";
}

// Does the file's name end in the digits of this very training? "resnet50-11ad3fa6.pth".
bool named_by_digest(const Variant& variant, const Checkpoint& checkpoint) {
  return !variant.digest.empty() && checkpoint.path().filename().string().ends_with("-" + variant.digest + ".pth");
}

// The default of an architecture: the training that the file's name tells of, else of the framework that it tells of or
// whose names the checkpoint bears, else the first.
const Variant* default_variant(const Family& family, const Checkpoint& checkpoint, const std::string& architecture) {
  for (const Variant* variant : family.variants())
    if (variant->architecture == architecture && named_by_digest(*variant, checkpoint)) return variant;
  const bool torchvision = called_as_torchvision_does(checkpoint.path().filename().string(), architecture);
  const Naming* naming = naming_of(family, checkpoint, torchvision ? "torchvision" : "");
  const Variant* first = nullptr;
  for (const Variant* variant : family.variants()) {
    if (variant->architecture != architecture) continue;
    if (naming && variant->framework == naming->framework) return variant;
    if (!first) first = variant;
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
       checkpoint.path().filename().string().c_str(), family.name(), frameworks.c_str(), example.c_str());
}

std::vector<uint8_t> bytes_of(const fbs::PreprocessT& preprocess) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(fbs::CreatePreprocess(builder, &preprocess));
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

// With what is to be said of other trainings of the same tensors, whose images are prepared otherwise.
Identified as_assumed(Identified found, const Checkpoint& checkpoint) {
  const auto mine = found.family->images(*found.variant);
  if (!mine || named_by_digest(*found.variant, checkpoint)) return found;
  std::string first;
  int more = -1;
  for (const Variant* other : found.family->variants()) {
    if (other == found.variant || other->architecture != found.variant->architecture) continue;
    const Naming* naming = naming_of(*found.family, checkpoint, other->framework);
    if (!naming || naming->framework != other->framework) continue;
    const auto others = found.family->images(*other);
    if (!others || others->classes != mine->classes || bytes_of(others->preprocess) == bytes_of(mine->preprocess))
      continue;
    if (first.empty()) first = other->framework + "/" + other->name();
    ++more;
  }
  if (first.empty()) return found;
  found.assumed = "taken for " + found.variant->framework + "/" + found.variant->name() + "; " + first +
                  (more > 0 ? " and " + std::to_string(more) + " more have" : " has") +
                  " the same tensors and other images (size, crop or colours): --model NAME says which it is";
  return found;
}

// A network that was tried: what it is, and what the graph would be.
struct Tried {
  Identified network;
  std::vector<uint8_t> graph;
};

// The graphs of a network that uses exactly the checkpoint's keys, with their shapes; empty where it does not.
std::vector<uint8_t> try_network(const std::shared_ptr<const Checkpoint>& checkpoint, const Identified& network,
                                 Trial trial, std::string* why_not) {
  try {
    const json none;
    const Settings settings;
    const Configured configured = network.family->configure({.checkpoint = checkpoint,
                                                             .naming = *network.naming,
                                                             .variant = *network.variant,
                                                             .config = none,
                                                             .settings = settings,
                                                             .labels = {},
                                                             .trial = trial});
    Ledger ledger(checkpoint, *network.naming, Ledger::Mode::Try);
    const std::vector<std::unique_ptr<Graph>> graphs = build_graphs(configured, ledger);
    for (auto more = graphs.begin() + 1; more != graphs.end(); ++more) graphs.front()->add_graph(std::move(**more));
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(fbs::CreateGraph(builder, &graphs.front()->table));
    return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
  } catch (const Error& error) {
    *why_not = error.what();
    return {};
  }
}

Identified by_config(Families families, const Checkpoint& checkpoint, const json& config) {
  try {
    for (const Family* family : families)
      if (const Variant* variant = family->described_by(config)) return with_naming(*family, *variant, checkpoint);
    if (config.contains("architecture") && config["architecture"].is_string())
      fail("config.json beside %s says that it is timm's %s, which is not known here: `ferry models` lists what is",
           checkpoint.path().filename().string().c_str(), in_quotes(config["architecture"].get<std::string>()).c_str());
  } catch (const json::exception& error) {
    fail("config.json beside %s: %s", checkpoint.path().filename().string().c_str(), error.what());
  }
  return {};
}

// Every architecture whose keys and shapes are the checkpoint's, each by its first variant.
std::map<std::string, Tried> fitting(Families families, const std::shared_ptr<const Checkpoint>& checkpoint,
                                     Trial trial, std::string* tried, std::string* why_not) {
  std::map<std::string, Tried> found;
  for (const Family* family : families) {
    const Naming* naming = naming_of(*family, *checkpoint, "");
    if (!naming) continue;
    *tried = family->name();
    for (const Variant* variant : family->candidates(*naming)) {
      if (found.contains(variant->architecture)) continue;
      Tried network{{family, variant, naming}, {}};
      network.graph = try_network(checkpoint, network.network, trial, why_not);
      if (!network.graph.empty()) found[variant->architecture] = std::move(network);
    }
  }
  return found;
}

}  // namespace

Identified identify(Families families, const Checkpoint& checkpoint, const std::string& model) {
  for (const bool whole : {true, false}) {
    for (const Family* family : families) {
      for (const Variant* variant : family->variants()) {
        if (!variant->is_called(model, whole)) continue;
        const bool placed = model.find('/') != model.npos;
        // A bare "resnet50" is not timm's where the checkpoint bears transformers' names.
        const bool named = placed || (whole && !variant->tag.empty());
        if (named) return with_naming(*family, *variant, checkpoint);
        return as_assumed(with_naming(*family, *default_variant(*family, checkpoint, model), checkpoint), checkpoint);
      }
    }
  }
  const json config = read_config(checkpoint);
  constexpr std::string_view kPlace = "transformers/";
  if (config.is_object() && model.starts_with(kPlace) &&
      config.value("model_type", json()) == model.substr(kPlace.size()))
    if (const Identified found = by_config(families, checkpoint, config); found.family) return found;
  fail("no model is called '%s': `ferry models` lists those known", model.c_str());
}

Identified identify(Families families, const std::shared_ptr<const Checkpoint>& checkpoint) {
  const json config = read_config(*checkpoint);
  if (config.is_object())
    if (const Identified found = by_config(families, *checkpoint, config); found.family) return found;

  std::string tried, why_not;
  std::map<std::string, Tried> found = fitting(families, checkpoint, Trial::AsPublished, &tried, &why_not);
  if (found.empty()) {
    // Published networks, trained anew for another size. Architectures that differ in nothing else are one.
    std::string unused;
    found = fitting(families, checkpoint, Trial::AnySize, &tried, &unused);
    for (auto it = found.begin(); it != found.end();) {
      const bool same = it != found.begin() && it->second.graph == found.begin()->second.graph;
      it = same ? found.erase(it) : std::next(it);
    }
  }
  const std::string file = checkpoint->path().filename().string();
  if (found.size() == 1) {
    const Identified& network = found.begin()->second.network;
    const std::string& architecture = network.variant->architecture;
    const Variant* named = default_variant(*network.family, *checkpoint, architecture);
    const bool by_name = called_as_torchvision_does(file, architecture) || named_by_digest(*named, *checkpoint);
    const Variant* variant = by_name ? named : network.variant;
    return as_assumed(with_naming(*network.family, *variant, *checkpoint), *checkpoint);
  }
  if (found.size() > 1) {
    std::string candidates;
    for (const auto& [architecture, candidate] : found) candidates += (candidates.empty() ? "" : ", ") + architecture;
    fail("%s fits several models: say which with --model: %s", file.c_str(), candidates.c_str());
  }
  if (!tried.empty())
    fail("%s has the keys of a %s, but fits none that is known here (the last one tried: %s): say which with --model",
         file.c_str(), tried.c_str(), why_not.c_str());
  const bool keras = std::string_view(checkpoint->format()) == "tensorflowjs";
  fail("%s has the keys of no model known here: `ferry models` lists them%s", file.c_str(),
       keras ? "" : "; any other network comes as an ONNX file: torch.onnx.export(), then `ferry convert net.onnx`");
}

std::string doubt_of_name(const Checkpoint& checkpoint) {
  const std::string file = checkpoint.path().filename().string(), digits = digits_in(file);
  const std::string found = digits.empty() ? std::string() : checkpoint.sha256().substr(0, digits.size());
  if (digits == found) return {};
  return file + " is called by the first digits of its SHA-256, which are " + found +
         ": the file is damaged, or not what it is called";
}

}  // namespace ferry
