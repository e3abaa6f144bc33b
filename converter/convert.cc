#include "converter/convert.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "converter/identify.h"
#include "converter/onnx/convert_onnx.h"
#include "converter/pack/pack.h"
#include "converter/passes/passes.h"
#include "converter/quantize/quantize.h"
#include "converter/timm_config.h"
#include "converter/transformers_config.h"

namespace ferry {
namespace {

void step(const ConvertOptions& options, const char* what, double fraction) {
  if (options.progress) options.progress(what, fraction);
}

void check(const ConvertOptions& o) {
  if (o.weights != "f32" && o.weights != "f16" && o.weights != "i8" && o.weights != "i4")
    fail("--weights %s: expected f32, f16, i8 or i4", o.weights.c_str());
  if (o.num_classes && *o.num_classes < 0) fail("--num-classes %d: expected 0 or more", *o.num_classes);
  if (o.in_chans && (*o.in_chans < 1 || *o.in_chans > 64)) fail("--in-chans %d: expected 1 to 64", *o.in_chans);
  for (const std::optional<int>& side : {o.height, o.width})
    if (side && (*side < 1 || *side > 16384)) fail("--input-size: a side of %d, expected 1 to 16384", *side);
}

std::vector<std::string> read_labels(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) fail("%s: cannot be read", path.string().c_str());
  std::vector<std::string> labels;
  for (std::string line; std::getline(file, line);) {
    if (line.ends_with('\r')) line.pop_back();
    labels.push_back(line);
  }
  return labels;
}

// The config.json beside the checkpoint, where it is about this network; null otherwise.
nlohmann::json config_of(const Checkpoint& checkpoint, const Identified& network) {
  if (network.naming->framework == "transformers") return read_config(checkpoint);
  if (network.naming->framework != "timm") return nullptr;
  nlohmann::json config = read_config(checkpoint);
  if (!is_timm_config(config) || config["architecture"] != network.variant->architecture) return nullptr;
  return config;
}

// The tensors that the graph's outputs are computed from.
std::set<int> ancestors_of_outputs(const Graph& graph) {
  std::set<int> needed;
  for (const auto& output : graph.table.outputs) needed.insert(static_cast<int>(output->tensor));
  for (auto op = graph.table.operators.rbegin(); op != graph.table.operators.rend(); ++op)
    if (needed.contains((*op)->outputs.front())) needed.insert((*op)->inputs.begin(), (*op)->inputs.end());
  return needed;
}

// The pyramid's maps become the outputs; what only the classifier needed is dead code then.
void output_features(Graph& graph, const std::vector<int>& features) {
  auto& model = graph.table;
  model.outputs.clear();
  for (const int index : features) {
    const std::string name = "feat/" + std::to_string(index);
    int maps = 0;
    const fbs::PortT* map = nullptr;
    for (const auto& tap : model.taps) {
      maps += tap->name.starts_with("feat/");
      if (tap->name == name) map = tap.get();
    }
    if (!map && maps == 0) fail("--features %d: the network has no pyramid of feature maps", index);
    if (!map) fail("--features %d: the network has feature maps 0 to %d", index, maps - 1);
    graph.add_output(name, {&graph, static_cast<int>(map->tensor)}, map->source_layout);
  }
  const std::set<int> needed = ancestors_of_outputs(graph);
  std::erase_if(model.taps, [&](const auto& tap) { return !needed.contains(static_cast<int>(tap->tensor)); });
  model.postprocess = nullptr;
  model.labels.clear();
}

std::vector<std::string> option_strings(const ConvertOptions& o) {
  std::vector<std::string> out;
  if (o.num_classes) out.push_back("--num-classes " + std::to_string(*o.num_classes));
  if (o.in_chans) out.push_back("--in-chans " + std::to_string(*o.in_chans));
  if (o.height && o.width) out.push_back("--input-size " + std::to_string(*o.height) + "x" + std::to_string(*o.width));
  for (const int index : o.features) out.push_back("--features " + std::to_string(index));
  if (o.keep_taps) out.push_back("--keep-taps");
  if (!o.labels.empty()) out.push_back("--labels");
  for (const std::string& shape : o.shapes) out.push_back("--shape " + shape);
  for (const std::string& open : o.dynamic) out.push_back("--dynamic " + open);
  if (!o.state_dict.empty()) out.push_back("--state-dict " + o.state_dict);
  if (o.unit_length) out.push_back("--unit-length");
  if (o.weights != "f32") out.push_back("--weights " + o.weights);
  std::sort(out.begin(), out.end());
  return out;
}

std::unique_ptr<fbs::ProvenanceT> provenance(const ConvertOptions& options, const Checkpoint& checkpoint,
                                             const Identified& network, const Variant& variant) {
  auto p = std::make_unique<fbs::ProvenanceT>();
  p->family = network.family->name;
  p->variant = variant.name();
  p->source = options.source.empty() ? checkpoint.path().filename().string() : options.source;
  p->source_sha256 = checkpoint.sha256();
  p->framework = network.naming->framework;
  p->converter = "ferry " + std::to_string(FERRY_VERSION_MAJOR) + "." + std::to_string(FERRY_VERSION_MINOR) + "." +
                 std::to_string(FERRY_VERSION_PATCH);
  p->options = option_strings(options);
  return p;
}

std::vector<std::string> labels_for(const ConvertOptions& options, const nlohmann::json& config, const Variant& variant,
                                    int classes) {
  if (!options.labels.empty()) {
    std::vector<std::string> labels = read_labels(options.labels);
    if (labels.size() != static_cast<size_t>(classes))
      fail("%s has %zu lines, but the network has %d classes", options.labels.string().c_str(), labels.size(), classes);
    return labels;
  }
  std::vector<std::string> labels;
  if (is_timm_config(config)) labels = timm_labels(config);
  // transformers' TimmWrapper writes both forms in one.
  if (labels.empty() && config.is_object()) labels = transformers_labels(config);
  if (labels.empty() && variant.imagenet_labels) labels = imagenet_labels();
  return labels.size() == static_cast<size_t>(classes) ? labels : std::vector<std::string>{};
}

void describe(Graph& graph, const BuildOptions& build, const ConvertOptions& options, const nlohmann::json& config,
              const fbs::PreprocessT& recipe) {
  auto& model = graph.table;
  model.name = build.variant.name();
  if (!model.preprocess) model.preprocess = std::make_unique<fbs::PreprocessT>(recipe);
  const fbs::PortT& output = *model.outputs.front();
  const Shape shape = graph.shape(static_cast<int>(output.tensor));
  const bool classes = output.name == "logits" && shape.rank == 2;
  if (classes) model.labels = labels_for(options, config, build.variant, shape[1]);
  if (!classes && !options.labels.empty()) fail("--labels: %s as converted here gives no classes", model.name.c_str());
  if (!model.postprocess) {
    model.postprocess = std::make_unique<fbs::PostprocessT>();
    fbs::PostprocessT& post = *model.postprocess;
    if (classes) {
      const bool several =
          config.is_object() && config.value("problem_type", nlohmann::json()) == "multi_label_classification";
      post.task = several ? fbs::Task::MultiLabel : fbs::Task::Classification;
      post.top = std::min(post.top, shape[1]);
    } else if (shape.rank == 2) {
      post.task = fbs::Task::Embedding;
      post.unit_length = options.unit_length;
    }
  }
  if (options.unit_length && !model.postprocess->unit_length)
    fail("--unit-length: %s as converted here gives no embedding", model.name.c_str());
}

}  // namespace

std::unique_ptr<Graph> convert_to_graph(const ConvertOptions& options) {
  check(options);
  step(options, "reading", 0.0);
  if (onnx::is_onnx_file(options.checkpoint)) {
    std::unique_ptr<Graph> graph = onnx::build_graph(options);
    graph->table.provenance->options = option_strings(options);
    return graph;
  }
  if (!options.shapes.empty()) fail("--shape %s: is for ONNX files only", options.shapes.front().c_str());
  if (!options.dynamic.empty()) fail("--dynamic %s: is for ONNX files only", options.dynamic.front().c_str());
  const std::shared_ptr<const Checkpoint> checkpoint = open_checkpoint(options.checkpoint, options.state_dict);
  const Identified network = options.model.empty() ? identify(checkpoint) : identify(*checkpoint, options.model);
  const nlohmann::json config = config_of(*checkpoint, network);
  Variant variant = *network.variant;
  std::optional<int> classes = variant.num_classes;
  if (is_timm_config(config)) {
    variant = with_timm_config(variant, config);
    classes = variant.num_classes;
  } else if (config.is_object()) {
    variant = with_transformers_config(variant, config);
    classes = transformers_classes(config, variant);
  }
  // transformers says beside the checkpoint how pictures are prepared.
  std::optional<fbs::PreprocessT> recipe;
  if (network.naming->framework == "transformers") {
    if (const nlohmann::json said = read_config(*checkpoint, "preprocessor_config.json"); said.is_object()) {
      recipe = transformers_recipe(said);
      fixed_size(*recipe, &variant.height, &variant.width);
    }
  }
  BuildOptions build{.variant = variant, .input_name = network.naming->input};
  build.num_classes = options.num_classes ? options.num_classes : classes;
  build.in_chans = options.in_chans.value_or(variant.in_chans);
  build.height = options.height.value_or(variant.height);
  build.width = options.width.value_or(variant.width);
  if (recipe) {
    change_size(&*recipe, build.height, build.width);
  } else {
    recipe = blob_recipe(variant.picture, build.height, build.width, variant.framework);
  }
  change_channels(&*recipe, build.in_chans);

  step(options, "building", 0.1);
  auto graph = std::make_unique<Graph>();
  try {
    Ledger ledger(checkpoint, *network.naming);
    network.family->build(*graph, Weights(*graph, ledger), build);
    ledger.finish();
    if (!options.features.empty()) output_features(*graph, options.features);
    describe(*graph, build, options, config, *recipe);
  } catch (const Error& error) {
    fail("%s as %s: %s", checkpoint->path().filename().string().c_str(), variant.name().c_str(), error.what());
  }
  graph->table.provenance = provenance(options, *checkpoint, network, variant);

  step(options, "folding", 0.4);
  if (options.passes) run_passes(*graph, {.keep_taps = options.keep_taps});
  return graph;
}

Conversion convert(const ConvertOptions& options) {
  const std::unique_ptr<Graph> graph = convert_to_graph(options);
  step(options, "packing", 0.7);
  if (options.weights == "i8") quantize_weights(*graph, WeightBits::Eight);
  if (options.weights == "i4") quantize_weights(*graph, WeightBits::Four);
  std::vector<std::byte> blob =
      pack(*graph, {options.weights == "f16" ? PackOptions::Weights::Float16 : PackOptions::Weights::Float32,
                    options.weights != "f32"});
  if (options.finish) {
    step(options, "certifying", 0.8);
    blob = options.finish(blob);
  }
  step(options, "writing", 0.9);
  write_file(options.output, blob);
  step(options, "done", 1.0);
  const auto& model = graph->table;
  return {.family = model.provenance->family,
          .variant = model.provenance->variant,
          .framework = model.provenance->framework,
          .operators = model.operators.size(),
          .taps = model.taps.size(),
          .labels = model.labels.size(),
          .bytes = blob.size()};
}

}  // namespace ferry
