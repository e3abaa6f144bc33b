#include <nlohmann/json.hpp>

#include "converter/error.h"
#include "models/vision/published.h"
#include "models/vision/segformer/segformer.h"
#include "models/vision/transformers_config.h"

namespace ferry::segformer {
namespace {

constexpr int kMaxRatio = 64;  // maximum ratio of an MLP's width to its input's

const std::vector<int> kNarrow = {32, 64, 160, 256}, kWide = {64, 128, 320, 512};

const std::vector<Config>& configs() {
  static const std::vector<Config> all = [] {
    std::vector<Config> segmenters = {
        {.architecture = "segformer_b0", .widths = kNarrow, .depths = {2, 2, 2, 2}},
        {.architecture = "segformer_b1", .widths = kWide, .depths = {2, 2, 2, 2}},
        {.architecture = "segformer_b2", .widths = kWide, .depths = {3, 4, 6, 3}, .decoder = 768},
        {.architecture = "segformer_b3", .widths = kWide, .depths = {3, 4, 18, 3}, .decoder = 768},
        {.architecture = "segformer_b4", .widths = kWide, .depths = {3, 8, 27, 3}, .decoder = 768},
        {.architecture = "segformer_b5", .widths = kWide, .depths = {3, 6, 40, 3}, .decoder = 768},
    };
    const char* encoders[] = {"mit_b0", "mit_b1", "mit_b2", "mit_b3", "mit_b4", "mit_b5"};
    for (size_t i = 0; i < std::size(encoders); ++i) {
      Config encoder = segmenters[i];
      encoder.architecture = encoders[i];
      encoder.head = Head::Classification;
      segmenters.push_back(encoder);
    }
    return segmenters;
  }();
  return all;
}

ImageVariant published(const std::string& architecture, const char* tag, const std::string& hub, int classes,
                       int height, int width) {
  ImageVariant row = transformers(
      architecture, tag, hub,
      {.num_classes = classes, .size = height, .crop_pct = 1, .squash = true, .filter = fbs::Filter::Bilinear});
  row.width = width;
  return row;
}

std::vector<int> one_a_stage(const ConfigReader& read, const char* key, const std::vector<int>& otherwise,
                             size_t stages) {
  const std::vector<int> numbers = read.integers(key, otherwise);
  if (numbers.size() != stages) read.refuse(key, std::to_string(stages) + " numbers, as in num_encoder_blocks");
  return numbers;
}

}  // namespace

const Config& config_of(const std::string& architecture) {
  for (const Config& config : configs())
    if (architecture == config.architecture) return config;
  fail("no SegFormer is called '%s'", architecture.c_str());
}

// Sizes by the names of the nvidia/* repositories; the encoders' preprocessing is that of their
// preprocessor_config.json.
std::span<const ImageVariant> variants() {
  static const std::vector<ImageVariant> all = [] {
    std::vector<ImageVariant> rows;
    const auto add = [&](const std::string& size, const char* tag, const std::string& data, int classes, int height,
                         int width) {
      const std::string hub = "nvidia/segformer-" + size + "-finetuned-" + data;
      rows.push_back(published("segformer_" + size, tag, hub, classes, height, width));
    };
    const std::string sizes[] = {"b0", "b1", "b2", "b3", "b4", "b5"};
    for (const std::string& size : sizes) {
      if (size == "b5")
        add(size, "ade_640", "ade-640-640", 150, 640, 640);
      else
        add(size, "ade_512", "ade-512-512", 150, 512, 512);
    }
    for (const std::string& size : sizes) add(size, "cityscapes_1024", "cityscapes-1024-1024", 19, 1024, 1024);
    add("b0", "cityscapes_512x1024", "cityscapes-512-1024", 19, 512, 1024);
    add("b0", "cityscapes_640x1280", "cityscapes-640-1280", 19, 640, 1280);
    add("b0", "cityscapes_768", "cityscapes-768-768", 19, 768, 768);
    for (const std::string& size : sizes)
      rows.push_back(published("mit_" + size, "in1k", "nvidia/mit-" + size, 1000, 512, 512));
    return rows;
  }();
  return all;
}

Config from_transformers(const nlohmann::json& json) {
  const ConfigReader read(json);
  const size_t stages = static_cast<size_t>(read.integer("num_encoder_blocks", 4));
  const std::vector<nlohmann::json> models = json.value("architectures", std::vector<nlohmann::json>{});
  Config config{.architecture = "",
                .widths = one_a_stage(read, "hidden_sizes", kNarrow, stages),
                .depths = one_a_stage(read, "depths", {2, 2, 2, 2}, stages),
                .head = models.empty() || models.front() == "SegformerForSemanticSegmentation" ? Head::Segmentation
                                                                                               : Head::Classification,
                .decoder = read.integer("decoder_hidden_size", 256),
                .heads = one_a_stage(read, "num_attention_heads", {1, 2, 5, 8}, stages),
                .reductions = one_a_stage(read, "sr_ratios", {8, 4, 2, 1}, stages),
                .patches = one_a_stage(read, "patch_sizes", {7, 3, 3, 3}, stages),
                .strides = one_a_stage(read, "strides", {4, 2, 2, 2}, stages),
                .mlp_ratios = read.numbers("mlp_ratios", {4, 4, 4, 4}),
                .act = read.activation("hidden_act", "gelu")};
  if (config.mlp_ratios.size() != stages)
    read.refuse("mlp_ratios", std::to_string(stages) + " numbers, as in num_encoder_blocks");
  for (const double ratio : config.mlp_ratios)
    if (ratio > kMaxRatio) read.refuse("mlp_ratios", "numbers of at most " + std::to_string(kMaxRatio));
  for (size_t s = 0; s < stages; ++s)
    if (config.widths[s] % config.heads[s] != 0)
      read.refuse("num_attention_heads", "divisors of hidden_sizes, " + nlohmann::json(config.widths).dump());
  // Without it, the decoder would interpret channels of the last stage as positions.
  if (config.head == Head::Segmentation) read.require("reshape_last_stage", true);
  return config;
}

Described described_by(const nlohmann::json& config) {
  if (ConfigReader(config).text("model_type", "") != "segformer") return {};
  return described_among<Config>(variants(), config, from_transformers(config), config_of,
                                 [](const Config& known, const Config& network) { return known.head == network.head; });
}

}  // namespace ferry::segformer
