#include "converter/identify.h"

#include <map>
#include <nlohmann/json.hpp>

#include "converter/checkpoint/json.h"
#include "converter/checkpoint/quantized.h"

namespace ferry {
namespace {

using nlohmann::json;
using Trial = ConfigureRequest::Trial;

enum class Keys {
  Exact,     // as the naming has them
  Prefixed,  // or with another prefix
};

struct Named {
  const Naming* naming = nullptr;
  KeyPrefix prefix = {};
};

bool fits(const Naming& naming, const Checkpoint& checkpoint) {
  for (const std::string& key : naming.probes)
    if (!checkpoint.tensors().contains(key)) return false;
  return true;
}

// The naming whose keys the checkpoint has, with the smallest change of their prefix. If several match: that of
// `framework`, else the first.
Named naming_of(const Family& family, const Checkpoint& checkpoint, const std::string& framework,
                Keys keys = Keys::Prefixed) {
  Named first;
  for (const Naming& naming : family.namings()) {
    if (!fits(naming, checkpoint)) continue;
    if (naming.framework == framework) return {&naming};
    if (!first.naming) first = {&naming};
  }
  if (first.naming || keys == Keys::Exact) return first;
  for (const Naming& naming : family.namings()) {
    const std::vector<KeyPrefix> found = prefixes_for(checkpoint, naming.probes);
    if (found.empty()) continue;
    const size_t size = found.front().size();
    const bool wins =
        !first.naming || size < first.prefix.size() ||
        (size == first.prefix.size() && naming.framework == framework && first.naming->framework != framework);
    if (wins) first = {&naming, found.front()};
  }
  return first;
}

// "f37072fd" of "resnet18-f37072fd.pth": torchvision's file names have the first digits of the SHA-256. Empty for other
// names.
std::string digits_in(const std::string& file) {
  constexpr size_t kDigits = 8, kEnd = kDigits + 4;
  if (file.size() <= kEnd || file[file.size() - kEnd - 1] != '-' || !file.ends_with(".pth")) return {};
  const std::string digits = file.substr(file.size() - kEnd, kDigits);
  return digits.find_first_not_of("0123456789abcdef") == digits.npos ? digits : std::string();
}

bool has_torchvision_name(const std::string& file, const std::string& architecture) {
  const std::string digits = digits_in(file);
  return !digits.empty() && file == architecture + "-" + digits + ".pth";
}

// Whether the file's name ends in this variant's digits, "resnet50-11ad3fa6.pth".
bool named_by_digest(const Variant& variant, const Checkpoint& checkpoint) {
  return !variant.digest.empty() && checkpoint.path().filename().string().ends_with("-" + variant.digest + ".pth");
}

// The default variant of an architecture: the one that the file's name identifies, else the first of the framework of
// the file's name or keys, else the first.
const Variant* default_variant(const Family& family, const Checkpoint& checkpoint, const std::string& architecture) {
  for (const Variant* variant : family.variants())
    if (variant->architecture == architecture && named_by_digest(*variant, checkpoint)) return variant;
  const bool torchvision = has_torchvision_name(checkpoint.path().filename().string(), architecture);
  const Naming* naming = naming_of(family, checkpoint, torchvision ? "torchvision" : "").naming;
  const Variant* first = nullptr;
  for (const Variant* variant : family.variants()) {
    if (variant->architecture != architecture) continue;
    if (naming && variant->framework == naming->framework) return variant;
    if (!first) first = variant;
  }
  return first;
}

Identified with_naming(const Family& family, const Variant& variant, const Checkpoint& checkpoint) {
  const Named named = naming_of(family, checkpoint, variant.framework);
  if (named.naming) return {&family, &variant, named.naming, named.prefix};
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

// Sets `assumed` if other variants have the same tensors, but other preprocessing.
Identified with_assumption(Identified found, const Checkpoint& checkpoint) {
  const auto mine = found.family->images(*found.variant);
  if (!mine || named_by_digest(*found.variant, checkpoint)) return found;
  std::string first;
  int more = -1;
  for (const Variant* other : found.family->variants()) {
    if (other == found.variant || other->architecture != found.variant->architecture) continue;
    const Naming* naming = naming_of(*found.family, checkpoint, other->framework).naming;
    if (!naming || naming->framework != other->framework) continue;
    const auto others = found.family->images(*other);
    if (!others || others->classes != mine->classes || bytes_of(others->preprocess) == bytes_of(mine->preprocess))
      continue;
    if (first.empty()) first = other->framework + "/" + other->name();
    ++more;
  }
  if (first.empty()) return found;
  found.assumed = "assuming " + found.variant->framework + "/" + found.variant->name() + "; " + first +
                  (more > 0 ? " and " + std::to_string(more) + " more have" : " has") +
                  " the same tensors, but other preprocessing (size, crop or colours): choose with --model NAME";
  return found;
}

// A network that matches the checkpoint, and its serialised graph.
struct Candidate {
  Identified network;
  std::vector<uint8_t> graph;
};

// The serialised graph, if the network uses exactly the checkpoint's keys and shapes; else empty, with the reason.
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
      fail("config.json of %s names timm's architecture %s, which Ferry does not know; `ferry models` lists all",
           checkpoint.path().filename().string().c_str(), in_quotes(config["architecture"].get<std::string>()).c_str());
  } catch (const json::exception& error) {
    fail("config.json of %s: %s", checkpoint.path().filename().string().c_str(), error.what());
  }
  return {};
}

// All architectures with the keys and shapes of the checkpoint; the first variant of each.
std::map<std::string, Candidate> matching(Families families, const std::shared_ptr<const Checkpoint>& checkpoint,
                                          Trial trial, Keys keys, std::string* tried, std::string* why_not) {
  std::map<std::string, Candidate> found;
  for (const Family* family : families) {
    const Named named = naming_of(*family, *checkpoint, "", keys);
    if (!named.naming) continue;
    *tried = family->name();
    std::shared_ptr<const Checkpoint> renamed;
    for (const Variant* variant : family->candidates(*named.naming)) {
      if (found.contains(variant->architecture)) continue;
      Candidate candidate{{family, variant, named.naming, named.prefix}, {}};
      try {
        if (!renamed) renamed = with_keys_of(candidate.network, checkpoint);
      } catch (const Error& error) {
        *why_not = error.what();
        break;
      }
      candidate.graph = try_network(renamed, candidate.network, trial, why_not);
      if (!candidate.graph.empty()) found[variant->architecture] = std::move(candidate);
    }
  }
  return found;
}

// The same, first for networks of the published input size; then for those retrained for another one, where
// architectures that differ only in that size are one.
std::map<std::string, Candidate> matching(Families families, const std::shared_ptr<const Checkpoint>& checkpoint,
                                          Keys keys, std::string* tried, std::string* why_not) {
  std::map<std::string, Candidate> found = matching(families, checkpoint, Trial::AsPublished, keys, tried, why_not);
  if (!found.empty()) return found;
  std::string unused;
  found = matching(families, checkpoint, Trial::AnySize, keys, tried, &unused);
  for (auto it = found.begin(); it != found.end();) {
    const bool same = it != found.begin() && it->second.graph == found.begin()->second.graph;
    it = same ? found.erase(it) : std::next(it);
  }
  return found;
}

}  // namespace

Identified identify(Families families, const Checkpoint& checkpoint, const std::string& model) {
  for (const bool whole : {true, false}) {
    for (const Family* family : families) {
      for (const Variant* variant : family->variants()) {
        if (!variant->is_called(model, whole)) continue;
        const bool has_framework = model.find('/') != model.npos;
        if (has_framework || (whole && !variant->tag.empty())) return with_naming(*family, *variant, checkpoint);
        // The keys decide the framework of a bare "resnet50".
        return with_assumption(with_naming(*family, *default_variant(*family, checkpoint, model), checkpoint),
                               checkpoint);
      }
    }
  }
  const json config = read_config(checkpoint);
  constexpr std::string_view kFramework = "transformers/";
  if (config.is_object() && model.starts_with(kFramework) &&
      config.value("model_type", json()) == model.substr(kFramework.size()))
    if (const Identified found = by_config(families, checkpoint, config); found.family) return found;
  fail("no model has the name '%s'; `ferry models` lists all", model.c_str());
}

Identified identify(Families families, const std::shared_ptr<const Checkpoint>& checkpoint) {
  const json config = read_config(*checkpoint);
  if (config.is_object())
    if (const Identified found = by_config(families, *checkpoint, config); found.family) return found;

  std::string tried, why_not;
  std::map<std::string, Candidate> found = matching(families, checkpoint, Keys::Exact, &tried, &why_not);
  if (found.empty()) {
    std::string other, other_why;
    found = matching(families, checkpoint, Keys::Prefixed, &other, &other_why);
    if (tried.empty()) tried = other, why_not = other_why;
  }
  const std::string file = checkpoint->path().filename().string();
  if (found.size() == 1) {
    const Identified& network = found.begin()->second.network;
    const std::string& architecture = network.variant->architecture;
    const Variant* named = default_variant(*network.family, *checkpoint, architecture);
    const bool by_name = has_torchvision_name(file, architecture) || named_by_digest(*named, *checkpoint);
    const Variant* variant = by_name ? named : network.variant;
    return with_assumption(with_naming(*network.family, *variant, *checkpoint), *checkpoint);
  }
  if (found.size() > 1) {
    std::string candidates;
    for (const auto& [architecture, candidate] : found) candidates += (candidates.empty() ? "" : ", ") + architecture;
    fail("%s matches several models; choose with --model: %s", file.c_str(), candidates.c_str());
  }
  if (config.is_object() && config.value("model_type", json()).is_string())
    fail("config.json of %s says model_type %s, which Ferry does not know; `ferry models` lists all%s", file.c_str(),
         in_quotes(config["model_type"].get<std::string>()).c_str(),
         tried.empty() ? "" : "; if its keys and settings are those of a known one, choose it with --model");
  if (!tried.empty())
    fail("%s has the keys of a %s, but matches none that Ferry knows (the last one tried: %s); choose with --model",
         file.c_str(), tried.c_str(), why_not.c_str());
  const bool keras = std::string_view(checkpoint->format()) == "tensorflow.js";
  fail("%s has the keys of no model that Ferry knows; `ferry models` lists all%s", file.c_str(),
       keras ? "" : "; any other network needs an ONNX file: torch.onnx.export(), then `ferry convert net.onnx`");
}

std::shared_ptr<const Checkpoint> with_keys_of(const Identified& network,
                                               std::shared_ptr<const Checkpoint> checkpoint) {
  return with_prefix(std::move(checkpoint), network.prefix, network.naming->probes, network.naming->apart);
}

KeyRules key_rules(const Settings& given) {
  return {.ignore = given.values("ignore-keys"), .rename = given.values("rename-keys")};
}

OpenedNetwork open_network(Families families, const std::filesystem::path& path, const Settings& settings) {
  auto checkpoint =
      without_wrappers(with_key_rules(open_checkpoint(path, settings.text("state-dict")), key_rules(settings)));
  checkpoint = dequantized(checkpoint, read_config(*checkpoint), !settings.has("weights"));
  const std::string model = settings.text("model");
  Identified network = model.empty() ? identify(families, checkpoint) : identify(families, *checkpoint, model);
  return {with_keys_of(network, checkpoint), network};
}

std::string digest_mismatch(const Checkpoint& checkpoint) {
  const std::string file = checkpoint.path().filename().string(), digits = digits_in(file);
  const std::string found = digits.empty() ? std::string() : checkpoint.sha256().substr(0, digits.size());
  if (digits == found) return {};
  return file + " has digits of a SHA-256 in its name, but the file's are " + found +
         ": the file is damaged, or has another file's name";
}

}  // namespace ferry
