#include "converter/checkpoint/source.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "converter/checkpoint/json.h"
#include "converter/identify.h"
#include "converter/passes/passes.h"

namespace ferry {
namespace {

// A model type of transformers may be named, too: identify() knows whether config.json has it.
void known_model(const Option& option, const Settings& given, Families families) {
  if (!given.text(option.name).starts_with("transformers/")) known_variant(option, given, families);
}

// What the source itself understands.
const std::vector<Option>& own_options() {
  static const std::vector<Option> kOptions = {
      {.name = "model",
       .argument = "VARIANT",
       .help = "Which network it is, as `ferry models` lists them",
       .check = known_model,
       .records = Option::Records::Nothing},  // the provenance's variant
      {.name = "state-dict",
       .argument = "KEY",
       .help = "Which dictionary of a PyTorch file. Without it: averaged weights (EMA) before plain ones",
       .records = Option::Records::Nothing},  // a field of the provenance
      {.name = "exportable",
       .argument = "",
       .help = "Keep whatever `ferry export` needs to give the checkpoint back; without it: where that is little",
       .takes = Option::Takes::Nothing,
       .rebuilds = false},
      {.name = "keep-taps",
       .argument = "",
       .help = "Keep every module's output, for parity; costs speed",
       .takes = Option::Takes::Nothing},
  };
  return kOptions;
}

// What families understand: each has the names of its own (Family::settings()).
const std::vector<Option>& family_options() {
  static const std::vector<Option> kOptions = {
      {.name = "num-classes",
       .argument = "N",
       .help = "Classes that the checkpoint has; 0 gives features without a classifier",
       .check = at_least<0>},
      {.name = "in-chans",
       .argument = "N",
       .help = "Channels of the input; the first convolution is adapted as timm does",
       .check = between<1, 64>},
      {.name = "input-size",
       .argument = "HxW",
       .help = "Height and width the blob is made for",
       .check = image_size,
       .instead = "an ONNX file has --shape NAME=1x3x224x224"},
      {.name = "features",
       .argument = "LIST",
       .help = "Give these maps of the backbone's pyramid, numbered from the finest, and no classes: 0,1,2,3",
       .takes = Option::Takes::List,
       .check = whole_numbers},
      {.name = "unit-length",
       .argument = "",
       .help = "With --num-classes 0: the embedding that the blob gives has length 1",
       .takes = Option::Takes::Nothing},
      {.name = "max-length",
       .argument = "N",
       .help = "Longest text of a language model, prompt and answer together, in tokens. Without it: 4096, or as many "
               "as it was trained for"},  // the maximum is in config.json, so the family checks it
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

// Those of the family; throws Error for another family's.
Settings family_settings(const Settings& given, const Family& family) {
  const auto known = family.settings();
  Settings out;
  for (const Setting& setting : given.all()) {
    if (std::find(known.begin(), known.end(), setting.name) != known.end()) {
      out.add(setting.name, setting.value);
    } else if (find_option(family_options(), setting.name) != nullptr) {
      fail("--%s: is not for a %s", setting.name.c_str(), family.name());
    }
  }
  return out;
}

void write_provenance(const Identified& network, const Checkpoint& checkpoint, const std::string& variant,
                      fbs::GraphT* table) {
  table->name = variant;
  table->provenance = std::make_unique<fbs::ProvenanceT>();
  fbs::ProvenanceT& provenance = *table->provenance;
  provenance.family = network.family->name();
  provenance.variant = variant;
  provenance.source = checkpoint.path().filename().string();
  provenance.source_sha256 = checkpoint.sha256();
  provenance.framework = network.naming->framework;
}

ImportedNetwork import(const ImportRequest& request) {
  const auto step = [&](const char* what, double fraction) {
    if (request.progress) request.progress(what, fraction);
  };
  const std::shared_ptr<const Checkpoint> checkpoint =
      open_checkpoint(request.path, request.settings.text("state-dict"));
  const std::string model = request.settings.text("model");
  const Identified network =
      model.empty() ? identify(request.families, checkpoint) : identify(request.families, *checkpoint, model);
  const Settings settings = family_settings(request.settings, *network.family);
  const nlohmann::json config = read_config(*checkpoint);
  const Configured configured = network.family->configure({.checkpoint = checkpoint,
                                                           .naming = *network.naming,
                                                           .variant = *network.variant,
                                                           .config = config,
                                                           .settings = settings,
                                                           .labels = request.settings.text("labels")});

  step("building", 0.1);
  ImportedNetwork made;
  const std::string file = checkpoint->path().filename().string(), name = configured.variant.name();
  try {
    Ledger ledger(checkpoint, *network.naming);
    made.graphs = build_graphs(configured, ledger);
    made.notes = std::move(ledger.notes);
    if (!network.assumed.empty()) made.notes.push_back(network.assumed);
    if (const std::string doubt = doubt_of_name(*checkpoint); !doubt.empty()) made.notes.push_back(doubt);
    made.checkpoint = {checkpoint, std::move(ledger.readings)};
  } catch (const Error& error) {
    fail("%s as %s: %s", file.c_str(), name.c_str(), error.what());
  }
  write_provenance(network, *checkpoint, name, &made.graphs.front()->table);

  step("folding", 0.4);
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
          .formats = "safetensors, PyTorch, TensorFlow.js",
          .family = nullptr,
          .recognises = looks_like_checkpoint,
          .folders = true,
          .options = options,
          .import = import,
          .outline = nullptr};
}

}  // namespace ferry
