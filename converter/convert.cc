#include "converter/convert.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "converter/checkpoint/json.h"
#include "converter/export/record.h"
#include "converter/identify.h"
#include "converter/onnx/convert_onnx.h"
#include "converter/passes/passes.h"
#include "converter/preprocessing/prepare_images.h"
#include "converter/provenance.h"
#include "converter/quantize/quantize.h"

namespace ferry {
namespace {

// Settings that ONNX files take.
constexpr const char *kShape = "shape", *kDynamic = "dynamic", *kWithout = "no-recognise", *kDetect = "detect",
                     *kLike = "like";

bool is_for_onnx(const std::string& setting) {
  return setting == kShape || setting == kDynamic || setting == kWithout || setting == kDetect || setting == kLike ||
         is_image_setting(setting);
}

void step(const ConvertOptions& options, const char* what, double fraction) {
  if (options.progress) options.progress(what, fraction);
}

// Of quantised weights no checkpoint is put together again.
bool gives_back(const ConvertOptions& o) { return o.weights != "i8" && o.weights != "i4"; }

void check(const ConvertOptions& o) {
  if (o.weights != "f32" && o.weights != "f16" && o.weights != "i8" && o.weights != "i4")
    fail("--weights %s: expected f32, f16, i8 or i4", o.weights.c_str());
  if (o.exportable && !gives_back(o))
    fail("--exportable: not with --weights %s, whose numbers are not the checkpoint's", o.weights.c_str());
  if (o.exportable && onnx::is_onnx_file(o.checkpoint)) fail("--exportable: is for checkpoints, not for an ONNX file");
  if (o.read.empty() != o.characters.empty())
    fail("--read and --characters: a network that reads lines, and the characters that it knows, come together");
  if (!o.read.empty() && (!onnx::is_onnx_file(o.checkpoint) || !onnx::is_onnx_file(o.read)))
    fail("--read: joins two ONNX files: %s is none",
         (onnx::is_onnx_file(o.checkpoint) ? o.read : o.checkpoint).string().c_str());
}

// The recipe that was asked for; absent: nothing makes a detector of the network.
std::optional<detect::Request> detection(const ConvertOptions& o) {
  const std::vector<std::string> recipes = o.settings.values(kDetect);
  if (!recipes.empty() && recipes.back() == "none") return {};
  if (!o.settings.values(kDynamic).empty()) {
    if (recipes.empty()) return {};
    fail("--detect %s with --dynamic: a detector's boxes are made for one size of image", recipes.back().c_str());
  }
  return detect::Request{
      .recipe = recipes.empty() ? "" : recipes.back(), .image = image_settings(o.settings), .labels = o.labels};
}

std::unique_ptr<Graph> import_onnx(Families families, const ConvertOptions& o,
                                   std::optional<detect::Detector>* detector, std::vector<std::string>* notes) {
  const auto refuse = [](const std::string& option) {
    fail("--%s: is for checkpoints, an ONNX file says itself what it is", option.c_str());
  };
  if (!o.model.empty()) refuse("model");
  if (!o.state_dict.empty()) refuse("state-dict");
  for (const Setting& setting : o.settings.all()) {
    if (is_for_onnx(setting.name)) continue;
    if (setting.name == "input-size")
      fail("--input-size: is for checkpoints, an ONNX file takes --shape NAME=1x3x224x224");
    refuse(setting.name);
  }
  if (!o.read.empty()) {
    if (!o.labels.empty()) fail("--labels: the classes of --read are named by --characters");
    for (const Setting& setting : o.settings.all())
      if (setting.name != kWithout)
        fail("--%s: not with --read, whose networks see images and lines of any size in their own way",
             setting.name.c_str());
    return onnx::build_reader({.finder = o.checkpoint,
                               .line = o.read,
                               .characters = o.characters,
                               .without = o.settings.values(kWithout),
                               .passes = o.passes});
  }
  const std::optional<detect::Request> wanted = detection(o);
  const auto finish = [&](Graph& graph) {
    if (wanted) *detector = detect::make_detector(graph, *wanted);
    const std::vector<std::string> like = o.settings.values(kLike);
    if (*detector && !like.empty()) fail("--like %s: a detector's recipe says it: --detect", like.back().c_str());
    if (*detector) return;
    notes->clear();  // a graph with open dimensions is imported more than once
    prepare_images(graph, families,
                   {.settings = image_settings(o.settings),
                    .like = like.empty() ? "" : like.back(),
                    .labels = o.labels,
                    .file = o.checkpoint},
                   notes);
  };
  return onnx::build_graph({.file = o.checkpoint,
                            .shapes = o.settings.values(kShape),
                            .dynamic = o.settings.values(kDynamic),
                            .without = o.settings.values(kWithout),
                            .passes = o.passes,
                            .finish = finish});
}

void check_settings(const Settings& settings, const Family& family) {
  const auto known = family.settings();
  for (const auto& [name, value] : settings.all()) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    if (is_for_onnx(name)) fail("--%s %s: is for ONNX files only", name.c_str(), value.c_str());
    fail("--%s: is not for a %s", name.c_str(), family.name());
  }
}

}  // namespace

std::vector<std::unique_ptr<Graph>> build_graphs(const Configured& network, Ledger& ledger) {
  std::vector<std::unique_ptr<Graph>> all;
  all.push_back(std::make_unique<Graph>());
  network.build(*all.back(), Weights(*all.back(), ledger));
  for (const Configured::Named& more : network.graphs) {
    all.push_back(std::make_unique<Graph>());
    all.back()->table.name = more.name;
    more.build(*all.back(), Weights(*all.back(), ledger));
  }
  ledger.finish();
  return all;
}

namespace {

// What is known of them that they do not hold.
struct Findings {
  Converted converted;  // of a checkpoint
  std::optional<detect::Detector> detector;
  std::vector<std::string> notes;
};

// The blob's graphs, the first of them with its provenance.
std::vector<std::unique_ptr<Graph>> make_graphs(Families families, const ConvertOptions& options, Findings* found) {
  check(options);
  step(options, "reading", 0.0);
  std::vector<std::unique_ptr<Graph>> graphs;
  if (onnx::is_onnx_file(options.checkpoint)) {
    graphs.push_back(import_onnx(families, options, &found->detector, &found->notes));
    write_options(options, graphs.front()->table.provenance.get());
    return graphs;
  }
  const std::shared_ptr<const Checkpoint> checkpoint = open_checkpoint(options.checkpoint, options.state_dict);
  const Identified network =
      options.model.empty() ? identify(families, checkpoint) : identify(families, *checkpoint, options.model);
  check_settings(options.settings, *network.family);
  const nlohmann::json config = read_config(*checkpoint);
  const Configured configured = network.family->configure({.checkpoint = checkpoint,
                                                           .naming = *network.naming,
                                                           .variant = *network.variant,
                                                           .config = config,
                                                           .settings = options.settings,
                                                           .labels = options.labels});

  step(options, "building", 0.1);
  const std::string file = checkpoint->path().filename().string(), name = configured.variant.name();
  try {
    Ledger ledger(checkpoint, *network.naming);
    graphs = build_graphs(configured, ledger);
    found->notes = std::move(ledger.notes);
    if (!network.assumed.empty()) found->notes.push_back(network.assumed);
    if (const std::string doubt = doubt_of_name(*checkpoint); !doubt.empty()) found->notes.push_back(doubt);
    found->converted = {checkpoint, std::move(ledger.readings)};
  } catch (const Error& error) {
    fail("%s as %s: %s", file.c_str(), name.c_str(), error.what());
  }
  fbs::GraphT& first = graphs.front()->table;
  first.name = name;
  first.provenance = std::make_unique<fbs::ProvenanceT>();
  fbs::ProvenanceT& provenance = *first.provenance;
  provenance.family = network.family->name();
  provenance.variant = name;
  provenance.source = file;
  provenance.source_sha256 = checkpoint->sha256();
  provenance.framework = network.naming->framework;
  write_options(options, &provenance);

  step(options, "folding", 0.4);
  if (options.passes)
    for (const auto& graph : graphs) run_passes(*graph, {.keep_taps = options.keep_taps});
  for (const Configured::Derived& more : configured.derived) {
    graphs.push_back(graphs.front()->copy());
    Graph& derived = *graphs.back();
    derived.table.name = more.name;
    derived.table.provenance = nullptr;
    derived.table.text.clear();
    more.edit(&derived);
  }
  return graphs;
}

std::unique_ptr<Graph> make_graph(Families families, const ConvertOptions& options, Findings* found) {
  std::vector<std::unique_ptr<Graph>> graphs = make_graphs(families, options, found);
  for (auto more = graphs.begin() + 1; more != graphs.end(); ++more) graphs.front()->add_graph(std::move(**more));
  return std::move(graphs.front());
}

}  // namespace

std::vector<std::unique_ptr<Graph>> convert_to_graphs(Families families, const ConvertOptions& options) {
  Findings ignored;
  return make_graphs(families, options, &ignored);
}

std::unique_ptr<Graph> convert_to_graph(Families families, const ConvertOptions& options) {
  Findings ignored;
  return make_graph(families, options, &ignored);
}

Conversion convert(Families families, const ConvertOptions& options) {
  Findings found;
  std::unique_ptr<Graph> graph = make_graph(families, options, &found);
  step(options, "packing", 0.7);
  if (options.weights == "i8") quantize_weights(*graph, WeightBits::Eight);
  if (options.weights == "i4") quantize_weights(*graph, WeightBits::Four);
  const PackOptions packing = {options.weights == "f16" ? PackOptions::Weights::Float16 : PackOptions::Weights::Float32,
                               options.weights != "f32"};
  Certify certify;
  if (options.certify)
    certify = [&options](const std::filesystem::path& blob) {
      step(options, "certifying", 0.8);
      return options.certify(blob);
    };
  Attach checkpoint;
  if (found.converted.checkpoint && gives_back(options))
    checkpoint = [&](const fbs::GraphT& table, std::span<const std::byte> data, const Sink& sink) {
      record_checkpoint(found.converted, options.exportable, table, data, sink);
    };
  const uint64_t bytes =
      options.dry_run ? packed_size(*graph, packing) : pack_file(*graph, packing, options.output, certify, checkpoint);
  step(options, "done", 1.0);
  const auto& model = graph->table;
  size_t operators = 0, taps = 0;
  for (const fbs::GraphT* table : tables_of(model)) {
    operators += table->operators.size();
    taps += table->taps.size();
  }
  Conversion done = {.family = model.provenance->family,
                     .variant = model.provenance->variant,
                     .framework = model.provenance->framework,
                     .operators = operators,
                     .taps = taps,
                     .labels = model.labels.size(),
                     .bytes = bytes,
                     .detector = std::move(found.detector),
                     .notes = std::move(found.notes)};
  if (options.dry_run) done.graph = std::move(graph);
  return done;
}

}  // namespace ferry
