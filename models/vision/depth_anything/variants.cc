#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "converter/error.h"
#include "models/vision/depth_anything/depth_anything.h"
#include "models/vision/published.h"
#include "models/vision/transformers_config.h"

namespace ferry::depth_anything {
namespace {

constexpr int kMaxScale = 64;  // of a level's size, or of an MLP's width

struct NetworkSize {
  const char* name;     // in transformers
  const char* encoder;  // in the authors' code
  const char* title;    // in their repositories' names
  int width, depth, heads;
  std::vector<int> neck;
  int fusion;
  std::vector<int> levels;  // of V2; V1 has the last four
};
const NetworkSize kSizes[] = {
    {"small", "vits", "Small", 384, 12, 6, {48, 96, 192, 384}, 64, {3, 6, 9, 12}},
    {"base", "vitb", "Base", 768, 12, 12, {96, 192, 384, 768}, 128, {3, 6, 9, 12}},
    {"large", "vitl", "Large", 1024, 24, 16, {256, 512, 1024, 1024}, 256, {5, 12, 18, 24}},
};

enum class Kind { V1, V2, Indoor, Outdoor };
constexpr Kind kKinds[] = {Kind::V1, Kind::V2, Kind::Indoor, Kind::Outdoor};

// "depth_anything_v2_metric_indoor_"
std::string prefix_of(Kind kind) {
  if (kind == Kind::V1) return "depth_anything_";
  if (kind == Kind::V2) return "depth_anything_v2_";
  return kind == Kind::Indoor ? "depth_anything_v2_metric_indoor_" : "depth_anything_v2_metric_outdoor_";
}

Config network(const NetworkSize& size, Kind kind) {
  Config config{.architecture = "",
                .width = size.width,
                .depth = size.depth,
                .heads = size.heads,
                .hidden = 4 * size.width,
                .levels = size.levels,
                .neck = size.neck,
                .fusion = size.fusion};
  if (kind == Kind::V1) config.levels = {size.depth - 3, size.depth - 2, size.depth - 1, size.depth};
  config.metric = kind == Kind::Indoor || kind == Kind::Outdoor;
  // Hypersim (indoor) and Virtual KITTI (outdoor).
  if (config.metric) config.maximum = kind == Kind::Indoor ? 20 : 80;
  return config;
}

ImageVariant variant(const std::string& architecture, const char* framework, const std::string& hub) {
  ImageVariant row;
  row.architecture = architecture;
  row.framework = framework;
  row.hub = hub;
  row.num_classes = 0;
  row.height = row.width = 518;
  row.imagenet_labels = false;
  row.image.crop_pct = 1;
  row.image.crop_mode = CropMode::LeastScaling;
  row.image.multiple_of = 14;
  return row;
}

std::string transformers_hub(Kind kind, const NetworkSize& size) {
  switch (kind) {
    case Kind::V1: return std::string("LiheYoung/depth-anything-") + size.name + "-hf";
    case Kind::V2: return std::string("depth-anything/Depth-Anything-V2-") + size.title + "-hf";
    case Kind::Indoor: return std::string("depth-anything/Depth-Anything-V2-Metric-Indoor-") + size.title + "-hf";
    case Kind::Outdoor: return std::string("depth-anything/Depth-Anything-V2-Metric-Outdoor-") + size.title + "-hf";
  }
  return {};
}

std::string authors_hub(Kind kind, const NetworkSize& size) {
  switch (kind) {
    case Kind::V1: return std::string("LiheYoung/depth_anything_") + size.encoder + "14";
    case Kind::V2: return std::string("depth-anything/Depth-Anything-V2-") + size.title;
    case Kind::Indoor: return std::string("depth-anything/Depth-Anything-V2-Metric-Hypersim-") + size.title;
    case Kind::Outdoor: return std::string("depth-anything/Depth-Anything-V2-Metric-VKITTI-") + size.title;
  }
  return {};
}

// The blocks whose tokens the head takes: from out_indices, or from the names in out_features ("stem", "stage1"...).
std::vector<int> levels_of(const nlohmann::json& json, const ConfigReader& read, int depth) {
  std::vector<int> levels;
  const std::string expected = "stages from 0 to " + std::to_string(depth) + " in rising order";
  const char* key = read.has("out_indices") ? "out_indices" : "out_features";
  if (!read.has(key)) return {depth};
  if (!json[key].is_array() || json[key].empty()) read.refuse(key, expected);
  for (const nlohmann::json& entry : json[key]) {
    const std::string name = entry.is_string() ? entry.get<std::string>() : "";
    int level = -1;
    if (entry.is_number_integer() && std::string_view(key) == "out_indices") {
      level = entry;
      if (level < 0) level += depth + 1;
    } else if (name == "stem") {
      level = 0;
    } else {
      const char* end = name.data() + name.size();
      int stage = 0;
      if (name.starts_with("stage") && std::from_chars(name.data() + 5, end, stage).ptr == end && stage > 0)
        level = stage;
    }
    if (level < 0 || level > depth || (!levels.empty() && level <= levels.back())) read.refuse(key, expected);
    levels.push_back(level);
  }
  return levels;
}

void read_backbone(const nlohmann::json& json, Config* config) {
  const ConfigReader read(json);
  if (read.text("model_type", "dinov2") != "dinov2") read.refuse("model_type", "\"dinov2\" of the backbone");
  read.require("reshape_hidden_states", false);
  if (read.side("patch_size", 14) != config->patch) read.refuse("patch_size", "that of both networks");
  config->width = read.integer("hidden_size", 768);
  config->depth = read.integer("num_hidden_layers", 12);
  config->heads = read.integer("num_attention_heads", 12);
  if (config->width % config->heads != 0)
    read.refuse("num_attention_heads", "a divisor of hidden_size, " + std::to_string(config->width));
  config->qkv_bias = read.flag("qkv_bias", true);
  config->swiglu = read.flag("use_swiglu_ffn", false);
  config->norm = read.flag("apply_layernorm", true);
  config->epsilon = read.number("layer_norm_eps", 1e-6);
  const double ratio = read.number("mlp_ratio", 4);
  if (ratio > kMaxScale) read.refuse("mlp_ratio", "a number of at most " + std::to_string(kMaxScale));
  const int hidden = static_cast<int>(config->width * ratio);
  config->hidden = config->swiglu ? static_cast<int>((int64_t{hidden} * 2 / 3 + 7) / 8 * 8) : hidden;
  if (!config->swiglu) config->act = read.activation("hidden_act", "gelu");
  config->levels = levels_of(json, read, config->depth);
}

}  // namespace

const Config& config_of(const std::string& architecture) {
  struct Entry {
    std::string name;
    Config config;
  };
  static const std::vector<Entry> all = [] {
    std::vector<Entry> entries;
    for (const Kind kind : kKinds)
      for (const NetworkSize& size : kSizes) {
        entries.push_back({prefix_of(kind) + size.name, network(size, kind)});
        entries.push_back({prefix_of(kind) + size.encoder, network(size, kind)});
        entries.back().config.position_offset = 0.1;
      }
    for (Entry& entry : entries) entry.config.architecture = entry.name.c_str();
    return entries;
  }();
  for (const Entry& entry : all)
    if (architecture == entry.name) return entry.config;
  fail("no Depth Anything is called '%s'", architecture.c_str());
}

// Image settings of the repositories' preprocessor_config.json. The authors' code upscales small images until their
// shorter side fits; here the scale is smaller.
std::span<const ImageVariant> variants() {
  static const std::vector<ImageVariant> all = [] {
    std::vector<ImageVariant> rows;
    for (const Kind kind : kKinds)
      for (const NetworkSize& size : kSizes)
        rows.push_back(variant(prefix_of(kind) + size.name, "transformers", transformers_hub(kind, size)));
    for (const Kind kind : kKinds)
      for (const NetworkSize& size : kSizes)
        rows.push_back(variant(prefix_of(kind) + size.encoder, "DepthAnything", authors_hub(kind, size)));
    return rows;
  }();
  return all;
}

Config from_transformers(const nlohmann::json& json) {
  const ConfigReader read(json);
  if (read.has("backbone")) read.refuse("backbone", "a backbone_config instead");
  Config config{.architecture = "",
                .width = 384,
                .depth = 12,
                .heads = 6,
                .hidden = 4 * 384,
                .levels = {9, 10, 11, 12},
                .neck = read.integers("neck_hidden_sizes", {48, 96, 192, 384}),
                .fusion = read.integer("fusion_hidden_size", 64, 2),
                .patch = read.side("patch_size", 14),
                .factors = read.numbers("reassemble_factors", {4, 2, 1, 0.5}),
                .head = read.integer("head_hidden_size", 32)};
  if (read.has("backbone_config")) read_backbone(json["backbone_config"], &config);
  const std::string count = std::to_string(config.neck.size());
  if (config.levels.size() != config.neck.size())
    read.refuse("neck_hidden_sizes",
                std::to_string(config.levels.size()) + " numbers, one per element of the backbone's out_indices");
  if (config.factors.size() != config.neck.size())
    read.refuse("reassemble_factors", count + " numbers, one per element of neck_hidden_sizes");
  for (const double factor : config.factors)
    if ((factor > 1 && factor != std::floor(factor)) || factor > kMaxScale || factor * kMaxScale < 1)
      read.refuse("reassemble_factors", "integers, and fractions below 1");
  if (read.integer("reassemble_hidden_size", 384) != config.width)
    read.refuse("reassemble_hidden_size", std::to_string(config.width) + ", the backbone's hidden_size");
  const std::string kind = read.text("depth_estimation_type", "relative");
  if (kind != "relative" && kind != "metric") read.refuse("depth_estimation_type", "relative or metric");
  config.metric = kind == "metric";
  config.maximum = read.number("max_depth", 1);
  // Python's indexing: -1 is the last one.
  const int levels = static_cast<int>(config.neck.size());
  const int level = read.integer("head_in_index", -1, -levels);
  config.head_level = level < 0 ? level + levels : level;
  if (config.head_level >= levels) read.refuse("head_in_index", "one of the " + count + " levels");
  return config;
}

Described described_by(const nlohmann::json& config) {
  if (ConfigReader(config).text("model_type", "") != "depth_anything") return {};
  const Config network = from_transformers(config);
  Described described =
      described_among<Config>(variants(), config, network, config_of,
                              [](const Config& known, const Config& wanted) { return known.metric == wanted.metric; });
  described.multiple_of = network.patch;
  return described;
}

}  // namespace ferry::depth_anything
