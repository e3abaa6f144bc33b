#include "models/vision/image_family.h"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "converter/checkpoint/json.h"
#include "converter/preprocessing/labels.h"
#include "models/vision/timm_config.h"
#include "models/vision/transformers_config.h"

namespace ferry {
namespace {

using nlohmann::json;

const ImageVariant& as_image(const Variant& variant) { return static_cast<const ImageVariant&>(variant); }

// Everything that determines the graph.
struct Plan {
  ImageVariant variant;
  std::optional<int> num_classes;
  int in_chans = 3, height = 224, width = 224;
  std::string input_name;
  fbs::PreprocessT preprocess;
  json config;
  std::vector<int> features;
  bool unit_length = false;
  std::filesystem::path labels;
  bool described = false;  // configured by a transformers config.json

  ImageOptions options() const {
    return {.variant = variant,
            .num_classes = num_classes,
            .in_chans = in_chans,
            .height = height,
            .width = width,
            .input_name = input_name,
            .config = described ? &config : nullptr};
  }
};

// The tensors that the graph's outputs depend on.
std::set<TensorId> ancestors_of_outputs(const Graph& graph) {
  std::set<TensorId> needed;
  for (const auto& output : graph.table.outputs) needed.insert(output->tensor);
  for (auto op = graph.table.operators.rbegin(); op != graph.table.operators.rend(); ++op)
    if (std::any_of((*op)->outputs.begin(), (*op)->outputs.end(), [&](TensorId t) { return needed.contains(t); }))
      needed.insert((*op)->inputs.begin(), (*op)->inputs.end());
  return needed;
}

// Makes the feature pyramid's maps the outputs; the rest of the classifier becomes dead code.
void output_features(Graph& graph, const std::vector<int>& features) {
  auto& table = graph.table;
  table.outputs.clear();
  for (const int index : features) {
    const std::string name = "feat/" + std::to_string(index);
    int maps = 0;
    const fbs::PortT* map = nullptr;
    for (const auto& tap : table.taps) {
      maps += tap->name.starts_with("feat/");
      if (tap->name == name) map = tap.get();
    }
    if (!map && maps == 0) fail("--features %d: the network has no pyramid of feature maps", index);
    if (!map) fail("--features %d: the network has feature maps 0 to %d", index, maps - 1);
    graph.add_output(name, {&graph, map->tensor}, map->source_layout);
  }
  const std::set<TensorId> needed = ancestors_of_outputs(graph);
  std::erase_if(table.taps, [&](const auto& tap) { return !needed.contains(tap->tensor); });
  table.postprocess = nullptr;
  table.labels.clear();
}

std::vector<std::string> labels_for(const Plan& plan, int classes) {
  std::vector<std::string> labels;
  if (!plan.labels.empty()) return read_labels(plan.labels, classes);
  if (is_timm_config(plan.config)) labels = timm_labels(plan.config);
  // transformers' TimmWrapper writes both kinds of labels into one file.
  if (labels.empty() && plan.config.is_object()) labels = transformers_labels(plan.config);
  if (labels.empty()) labels = plan.variant.imagenet_labels ? imagenet_labels() : plan.variant.labels;
  return labels.size() == static_cast<size_t>(classes) ? labels : std::vector<std::string>{};
}

void add_processing(Graph& graph, const Plan& plan) {
  auto& table = graph.table;
  const std::string name = plan.variant.name();
  if (!table.preprocess) table.preprocess = std::make_unique<fbs::PreprocessT>(plan.preprocess);
  const fbs::PortT& output = *table.outputs.front();
  const Shape shape = graph.shape(output.tensor);
  const bool segmentation = table.postprocess && table.postprocess->task == fbs::Task::SemanticSegmentation;
  const bool classes = output.name == "logits" && (shape.rank == 2 || segmentation);
  if (classes) table.labels = labels_for(plan, shape[shape.rank - 1]);
  if (!classes && !plan.labels.empty()) fail("--labels: %s outputs no classes in this conversion", name.c_str());
  if (!table.postprocess) {
    table.postprocess = std::make_unique<fbs::PostprocessT>();
    fbs::PostprocessT& post = *table.postprocess;
    if (classes) {
      const bool several =
          plan.config.is_object() && plan.config.value("problem_type", json()) == "multi_label_classification";
      post.task = several ? fbs::Task::MultiLabel : fbs::Task::Classification;
      post.top = std::min(post.top, shape[1]);
    } else if (shape.rank == 2) {
      post.task = fbs::Task::Embedding;
      post.unit_length = plan.unit_length;
    }
  }
  if (plan.unit_length && !table.postprocess->unit_length)
    fail("--unit-length: %s outputs no embedding in this conversion", name.c_str());
}

// The config.json beside the checkpoint if it describes this network, else null.
json config_of(const ConfigureRequest& request) {
  if (!request.config.is_object()) return nullptr;
  if (request.naming.framework == "transformers") return request.config;
  const bool same = request.naming.framework == "timm" && is_timm_config(request.config) &&
                    request.config["architecture"] == request.variant.architecture;
  return same ? request.config : nullptr;
}

// The image size of the checkpoint's position table.
std::optional<Settings::Size> stored_size(const ImageNetworks& networks, const ConfigureRequest& request,
                                          const Plan& plan) {
  if (!networks.stored_size) return {};
  Graph graph;
  Ledger ledger(request.checkpoint, request.naming, Ledger::Mode::Try);
  return networks.stored_size(Weights(graph, ledger), plan.options());
}

Plan plan_of(const ImageNetworks& networks, const ConfigureRequest& request) {
  Plan plan{.variant = as_image(request.variant),
            .num_classes = {},
            .input_name = request.naming.input,
            .preprocess = {},
            .config = config_of(request),
            .features = request.settings.integers("features"),
            .unit_length = request.settings.has("unit-length"),
            .labels = request.labels};
  const std::optional<int> asked_classes = request.settings.integer("num-classes", 0);
  const std::optional<int> asked_chans = request.settings.integer("in-chans", 1, 64);
  const std::optional<Settings::Size> asked_size = request.settings.size("input-size");

  ImageVariant& variant = plan.variant;
  if (!variant.any_classes) plan.num_classes = variant.num_classes;
  if (is_timm_config(plan.config)) {
    variant = with_timm_config(variant, plan.config);
    plan.num_classes = variant.num_classes;
  } else if (plan.config.is_object()) {
    const Described described = networks.described_by ? networks.described_by(plan.config) : Described{};
    plan.described = described.row != nullptr;
    if (described.row && !described.published) {
      // Known by its config.json alone.
      variant = *described.row;
      variant.architecture = plan.config["model_type"];
      variant.tag.clear();
      variant.hub.clear();
      variant.imagenet_labels = false;
    }
    if (described.multiple_of > 0) variant.image.multiple_of = described.multiple_of;
    variant = with_transformers_config(variant, plan.config);
    plan.num_classes = transformers_classes(plan.config, variant);
  }
  // transformers stores the preprocessing beside the checkpoint.
  std::optional<fbs::PreprocessT> preprocess;
  bool sized = false;
  if (request.naming.framework == "transformers") {
    if (const json said = read_config(*request.checkpoint, "preprocessor_config.json"); said.is_object()) {
      preprocess = transformers_preprocessing(said);
      sized = fixed_size(*preprocess, &variant.height, &variant.width);
    }
  }
  plan.height = variant.height;
  plan.width = variant.width;
  const Settings::Size usual = (sized ? std::nullopt : stored_size(networks, request, plan))
                                   .value_or(Settings::Size{variant.height, variant.width});
  if (asked_classes) plan.num_classes = asked_classes;
  plan.in_chans = asked_chans.value_or(variant.in_chans);
  const Settings::Size size = asked_size.value_or(usual);
  plan.height = size.height;
  plan.width = size.width;
  if (preprocess) {
    // If the size follows from the image, only a requested size changes the resize.
    if (sized || asked_size) change_size(&*preprocess, plan.height, plan.width);
  } else {
    preprocess = blob_preprocessing(variant.image, plan.height, plan.width, variant.framework);
  }
  change_channels(&*preprocess, plan.in_chans);
  plan.preprocess = *preprocess;
  return plan;
}

// The number of classes is the checkpoint's, if it has a classifier.
Plan trial_of(const ImageNetworks& networks, const ConfigureRequest& request) {
  const ImageVariant& variant = as_image(request.variant);
  Plan plan{.variant = variant,
            .num_classes = {},
            .input_name = "input",
            .preprocess = {},
            .config = {},
            .features = {},
            .labels = {}};
  if (variant.num_classes == 0) plan.num_classes = 0;
  plan.in_chans = variant.in_chans;
  plan.height = variant.height;
  plan.width = variant.width;
  if (request.trial == ConfigureRequest::Trial::AnySize) {
    if (const auto size = stored_size(networks, request, plan)) {
      plan.height = size->height;
      plan.width = size->width;
    }
  }
  return plan;
}

}  // namespace

std::vector<const Variant*> ImageFamily::variants() const {
  std::vector<const Variant*> all;
  for (const ImageVariant& variant : networks_.variants()) all.push_back(&variant);
  return all;
}

std::span<const std::string_view> ImageFamily::settings() const {
  static constexpr std::string_view kNames[] = {"num-classes", "in-chans", "input-size", "features", "unit-length"};
  return kNames;
}

Family::Description ImageFamily::describe(const Variant& variant) const {
  const ImageVariant& v = as_image(variant);
  return {.input = std::to_string(v.height) + "x" + std::to_string(v.width),
          .output = v.num_classes > 0 ? std::to_string(v.num_classes) + " classes" : "no classes",
          .properties = {{"input", {v.in_chans, v.height, v.width}}, {"num_classes", v.num_classes}}};
}

const Variant* ImageFamily::described_by(const json& config) const {
  if (!is_timm_config(config)) return networks_.described_by ? networks_.described_by(config).row : nullptr;
  const json pretrained = config.value("pretrained_cfg", json::object());
  const std::string tag = pretrained.is_object() ? pretrained.value("tag", "") : "";
  // The training that the config names, if known; else the first one of its architecture.
  const ImageVariant* first = nullptr;
  for (const ImageVariant& variant : networks_.variants()) {
    if (variant.architecture != config["architecture"] || variant.framework != "timm") continue;
    if (variant.tag == tag) return &variant;
    if (!first) first = &variant;
  }
  return first;
}

std::optional<Family::Images> ImageFamily::images(const Variant& variant) const {
  const ImageVariant& own = as_image(variant);
  if (own.num_classes == 0) return {};
  const std::vector<std::string>& labels = own.imagenet_labels ? imagenet_labels() : own.labels;
  const bool named = labels.size() == static_cast<size_t>(own.num_classes);
  return Images{blob_preprocessing(own.image, own.height, own.width, own.framework), own.num_classes,
                named ? labels : std::vector<std::string>{}};
}

std::vector<const Variant*> ImageFamily::candidates(const Naming& naming) const {
  std::vector<const Variant*> all;
  std::set<std::string> seen;
  // Variants without a classifier ignore the one of the checkpoint, so they come last.
  for (const bool classifies : {true, false}) {
    for (const ImageVariant& variant : networks_.variants())
      if (variant.framework == naming.framework && (variant.num_classes > 0) == classifies &&
          seen.insert(variant.architecture).second)
        all.push_back(&variant);
    seen.clear();
  }
  return all;
}

Configured ImageFamily::configure(const ConfigureRequest& request) const {
  const auto build = networks_.build;
  const bool trial = request.trial != ConfigureRequest::Trial::No;
  auto plan = std::make_shared<const Plan>(trial ? trial_of(networks_, request) : plan_of(networks_, request));
  Configured configured{.variant = plan->variant, .build = [plan, build, trial](Graph& graph, const Weights& w) {
                          build(graph, w, plan->options());
                          if (trial) return;
                          if (!plan->features.empty()) output_features(graph, plan->features);
                          add_processing(graph, *plan);
                        }};
  if (networks_.graphs)
    for (const ImageGraph& more : networks_.graphs())
      configured.graphs.push_back({more.name, [plan, build = more.build](Graph& graph, const Weights& w) {
                                     build(graph, w, plan->options());
                                   }});
  return configured;
}

const std::vector<std::string>& imagenet_labels() {
  static const std::vector<std::string> labels = [] {
    std::istringstream text(
#include "data/imagenet_1k.inc"
    );
    std::vector<std::string> lines;
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    return lines;
  }();
  return labels;
}

}  // namespace ferry
