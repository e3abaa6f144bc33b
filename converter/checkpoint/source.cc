#include "converter/checkpoint/source.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string_view>

#include "converter/checkpoint/json.h"
#include "converter/checkpoint/keys.h"
#include "converter/identify.h"
#include "converter/passes/passes.h"

namespace ferry {
namespace {

// Accepts any model type of transformers: identify() compares it with config.json.
void known_model(const Option& option, const Settings& given, Families families) {
  if (!given.text(option.name).starts_with("transformers/")) known_variant(option, given, families);
}

void valid_rule(const Option&, const Settings& given, Families) { check_key_rules(key_rules(given)); }

// Options of the format.
const std::vector<Option>& own_options() {
  static const std::vector<Option> kOptions = {
      {.name = "model",
       .argument = "VARIANT",
       .help = "The network, one of `ferry models`. Default: identified by config.json or by the checkpoint's keys",
       .check = known_model,
       .records = Option::Records::Nothing},  // the provenance has a field for the variant
      {.name = "state-dict",
       .argument = "KEY",
       .help = "The dictionary of a PyTorch file with several, or a prefix of the keys to read. Default: averaged\n"
               "weights (EMA), else plain weights",
       .records = Option::Records::Nothing},  // the provenance has a field for it
      {.name = "ignore-keys",
       .argument = "REGEX",
       .help = "Leave out keys in which this regular expression (ECMAScript) matches; may be repeated",
       .takes = Option::Takes::Values,
       .check = valid_rule},
      {.name = "rename-keys",
       .argument = "OLD=NEW",
       .help = "Replace matches of the regular expression OLD in every key by NEW, in which $1 is a group; may be\n"
               "repeated: '^encoder\\.='",
       .takes = Option::Takes::Values,
       .check = valid_rule},
      {.name = "exportable",
       .argument = "",
       .help = "Store all that `ferry export` needs to restore the checkpoint. Default: only if that is little",
       .takes = Option::Takes::Nothing,
       .rebuilds = false},
  };
  return kOptions;
}

// Options of model families. Family::settings() lists those of a family.
const std::vector<Option>& family_options() {
  static const std::vector<Option> kOptions = {
      {.name = "num-classes",
       .argument = "N",
       .help = "Number of classes in the checkpoint; 0 removes the classifier and outputs features",
       .check = at_least<0>},
      {.name = "in-chans",
       .argument = "N",
       .help = "Number of input channels; the first convolution is adapted as in timm",
       .check = between<1, 64>},
      {.name = "input-size",
       .argument = "HxW",
       .help = "Height and width of the blob's input",
       .check = image_size,
       .instead = "an ONNX file has --shape NAME=1x3x224x224"},
      {.name = "features",
       .argument = "LIST",
       .help = "Output these feature maps of the backbone instead of classes, numbered from the finest: 0,1,2,3",
       .takes = Option::Takes::List,
       .check = whole_numbers},
      {.name = "unit-length",
       .argument = "",
       .help = "With --num-classes 0: normalise the embedding to length 1",
       .takes = Option::Takes::Nothing},
  };
  return kOptions;
}

std::span<const Option> options() {
  static const std::vector<Option> kOptions = [] {
    std::vector<Option> all = own_options();
    all.insert(all.end(), family_options().begin(), family_options().end());
    return all;
  }();
  return kOptions;
}

// The options of the family. Throws Error for an option of another family.
Settings family_settings(const Settings& given, const Family& family) {
  const auto known = family.settings();
  Settings out;
  for (const Setting& setting : given.all()) {
    if (std::find(known.begin(), known.end(), setting.name) != known.end()) {
      out.add(setting.name, setting.value);
    } else if (find_option(family_options(), setting.name) != nullptr || setting.name == "max-length") {
      fail("--%s: is not for a %s", setting.name.c_str(), family.name());
    }
  }
  return out;
}

void write_provenance(const Identified& network, const Checkpoint& checkpoint, const std::string& variant, bool digest,
                      fbs::GraphT* table) {
  table->name = variant;
  table->provenance = std::make_unique<fbs::ProvenanceT>();
  fbs::ProvenanceT& provenance = *table->provenance;
  provenance.family = network.family->name();
  provenance.variant = variant;
  provenance.source = checkpoint.path().filename().string();
  // A placeholder of the same length, so that a dry run knows the blob's size.
  provenance.source_sha256 = digest ? checkpoint.sha256() : std::string(64, '0');
  provenance.framework = network.naming->framework;
}

// "708.2 MB of weights take 4943 MB as float32: --weights f16 rounds them, i8 and i4 quantise them again", of weights
// of less than 16 bits whose integers a blob cannot hold. Empty: there are none.
std::string note_of_widened(const Checkpoint& checkpoint) {
  double stored = 0, widened = 0;
  for (const auto& [key, tensor] : checkpoint.tensors()) {
    const double bytes = static_cast<double>(tensor.bytes.size()), elements = static_cast<double>(tensor.elements());
    if (!tensor.encoding || tensor.encoding->has_integers() || bytes >= 2 * elements) continue;
    stored += bytes;
    widened += sizeof(float) * elements;
  }
  if (stored == 0) return "";
  char text[160];
  std::snprintf(text, sizeof text,
                "%.4g MB of weights take %.4g MB as float32: --weights f16 rounds them, i8 and i4 quantise them again",
                stored / 1e6, widened / 1e6);
  return text;
}

ImportedNetwork import(const ImportRequest& request) {
  const auto step = [&](const char* what, double fraction) {
    if (request.progress) request.progress(what, fraction);
  };
  const auto [checkpoint, network] = open_network(request.families, request.path, request.settings);
  const bool gguf = checkpoint->format() == std::string_view("gguf");
  if (gguf && request.settings.has("exportable"))
    fail("--exportable: not for a GGUF file, whose blocks cannot be computed back from a blob's values");
  const Settings settings = family_settings(request.settings, *network.family);
  const nlohmann::json config = read_config(*checkpoint);
  const Configured configured = network.family->configure({.checkpoint = checkpoint,
                                                           .naming = *network.naming,
                                                           .variant = *network.variant,
                                                           .config = config,
                                                           .settings = settings,
                                                           .labels = request.settings.text("labels")});

  step("building", 0.05);
  ImportedNetwork made;
  const std::string file = checkpoint->path().filename().string(), name = configured.variant.name();
  try {
    Ledger ledger(checkpoint, *network.naming);
    made.graphs = build_graphs(configured, ledger);
    made.notes = checkpoint->notes();
    made.notes.insert(made.notes.end(), ledger.notes.begin(), ledger.notes.end());
    made.details = std::move(ledger.details);
    made.notes.insert(made.notes.end(), configured.notes.begin(), configured.notes.end());
    if (!network.assumed.empty()) made.notes.push_back(network.assumed);
    if (const std::string doubt = digest_mismatch(*checkpoint); !doubt.empty()) made.notes.push_back(doubt);
    made.integers = std::any_of(checkpoint->tensors().begin(), checkpoint->tensors().end(), [](const auto& named) {
      return named.second.encoding && named.second.encoding->has_integers();
    });
    if (!request.settings.has("weights"))
      if (std::string note = note_of_widened(*checkpoint); !note.empty()) made.notes.push_back(std::move(note));
    if (!gguf) made.checkpoint = {checkpoint, std::move(ledger.readings)};
  } catch (const Error& error) {
    fail("%s as %s: %s", file.c_str(), name.c_str(), error.what());
  }
  if (request.digest) step("hashing", 0.1);
  write_provenance(network, *checkpoint, name, request.digest, &made.graphs.front()->table);

  step("folding", 0.25);
  if (request.passes)
    for (const auto& graph : made.graphs) run_passes(*graph, {.keep_taps = request.settings.has("keep-taps")});
  for (const Configured::Derived& more : configured.derived) {
    made.graphs.push_back(made.graphs.front()->copy());
    Graph& derived = *made.graphs.back();
    derived.table.name = more.name;
    derived.table.provenance = nullptr;
    derived.table.text.clear();
    more.edit(&derived);
  }
  return made;
}

}  // namespace

Source checkpoint_source() {
  return {.name = "a checkpoint",
          .plural = "checkpoints",
          .formats = "safetensors, PyTorch, GGUF, TensorFlow.js",
          .family = nullptr,
          .recognises = looks_like_checkpoint,
          .folders = true,
          .options = options,
          .import = import,
          .outline = nullptr,
          .weights = [](Families families, const std::filesystem::path& path, const Settings& settings) {
            return open_network(families, path, settings).checkpoint;
          }};
}

}  // namespace ferry
