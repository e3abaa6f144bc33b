#include <algorithm>
#include <nlohmann/json.hpp>

#include "converter/error.h"
#include "models/vision/published.h"
#include "models/vision/swin/swin.h"
#include "models/vision/transformers_config.h"

namespace ferry::swin {
namespace {

const Config kConfigs[] = {
    {"swin_tiny_patch4_window7_224", 96, {2, 2, 6, 2}, {3, 6, 12, 24}, {7, 7, 7, 7}},
    {"swin_small_patch4_window7_224", 96, {2, 2, 18, 2}, {3, 6, 12, 24}, {7, 7, 7, 7}},
    {"swin_base_patch4_window7_224", 128, {2, 2, 18, 2}, {4, 8, 16, 32}, {7, 7, 7, 7}},
    {"swin_base_patch4_window12_384", 128, {2, 2, 18, 2}, {4, 8, 16, 32}, {12, 12, 12, 12}},
    {"swin_large_patch4_window7_224", 192, {2, 2, 18, 2}, {6, 12, 24, 48}, {7, 7, 7, 7}},
    {"swin_large_patch4_window12_384", 192, {2, 2, 18, 2}, {6, 12, 24, 48}, {12, 12, 12, 12}},
    {"swin_s3_tiny_224", 96, {2, 2, 6, 2}, {3, 6, 12, 24}, {7, 7, 14, 7}},
    {"swin_s3_small_224", 96, {2, 2, 18, 2}, {3, 6, 12, 24}, {14, 14, 14, 7}},
    {"swin_s3_base_224", 96, {2, 2, 30, 2}, {3, 6, 12, 24}, {7, 7, 14, 7}},
    {"swin_t", 96, {2, 2, 6, 2}, {3, 6, 12, 24}, {7, 7, 7, 7}},
    {"swin_s", 96, {2, 2, 18, 2}, {3, 6, 12, 24}, {7, 7, 7, 7}},
    {"swin_b", 128, {2, 2, 18, 2}, {4, 8, 16, 32}, {7, 7, 7, 7}},
};

ImageVariant timm(const char* architecture, const char* tag, int size = 224) {
  return ferry::timm(architecture, tag, {.size = size, .crop_pct = size == 224 ? 0.9 : 1.0});
}

// crop_pct: the shorter edge is resized to 232, 246 or 238.
ImageVariant torchvision(const char* architecture, double crop_pct) {
  return ferry::torchvision(architecture, "v1", {.crop_pct = crop_pct, .filter = fbs::Filter::Bicubic});
}

// "microsoft/swin-tiny-patch4-window7-224", with the preprocessing of its preprocessor_config.json.
ImageVariant transformers(const std::string& size, int window, const char* tag = "", int num_classes = 1000) {
  const int side = 32 * window;
  const std::string ending = "_patch4_window" + std::to_string(window) + "_" + std::to_string(side);
  std::string hub = "microsoft/swin-" + size + "-patch4-window" + std::to_string(window) + "-" + std::to_string(side);
  if (*tag != '\0') hub += std::string("-") + tag;
  return ferry::transformers("swin_" + size + ending, tag, hub,
                             {.num_classes = num_classes, .size = side, .crop_pct = 1, .squash = true});
}

}  // namespace

const Config& config_of(const std::string& architecture) {
  for (const Config& config : kConfigs)
    if (architecture == config.architecture) return config;
  fail("no Swin Transformer is called '%s'", architecture.c_str());
}

// Settings of timm's pretrained configurations and torchvision's weight transforms.
std::span<const ImageVariant> variants() {
  static const ImageVariant table[] = {
      timm("swin_tiny_patch4_window7_224", "ms_in1k"),
      timm("swin_tiny_patch4_window7_224", "ms_in22k_ft_in1k"),
      timm("swin_tiny_patch4_window7_224", "ms_in22k"),
      timm("swin_small_patch4_window7_224", "ms_in22k_ft_in1k"),
      timm("swin_small_patch4_window7_224", "ms_in1k"),
      timm("swin_small_patch4_window7_224", "ms_in22k"),
      timm("swin_base_patch4_window7_224", "ms_in22k_ft_in1k"),
      timm("swin_base_patch4_window7_224", "ms_in1k"),
      timm("swin_base_patch4_window7_224", "ms_in22k"),
      timm("swin_base_patch4_window12_384", "ms_in22k_ft_in1k", 384),
      timm("swin_base_patch4_window12_384", "ms_in1k", 384),
      timm("swin_base_patch4_window12_384", "ms_in22k", 384),
      timm("swin_large_patch4_window7_224", "ms_in22k_ft_in1k"),
      timm("swin_large_patch4_window7_224", "ms_in22k"),
      timm("swin_large_patch4_window12_384", "ms_in22k_ft_in1k", 384),
      timm("swin_large_patch4_window12_384", "ms_in22k", 384),
      timm("swin_s3_tiny_224", "ms_in1k"),
      timm("swin_s3_small_224", "ms_in1k"),
      timm("swin_s3_base_224", "ms_in1k"),
      torchvision("swin_t", 0.965),
      torchvision("swin_s", 0.91),
      torchvision("swin_b", 0.94),
      transformers("tiny", 7),
      transformers("small", 7),
      transformers("base", 7),
      transformers("base", 12),
      transformers("large", 7),
      transformers("large", 12),
      transformers("base", 7, "in22k", 21841),
      transformers("base", 12, "in22k", 21841),
      transformers("large", 7, "in22k", 21841),
      transformers("large", 12, "in22k", 21841),
  };
  return table;
}

Config from_transformers(const nlohmann::json& json) {
  const ConfigReader read(json);
  read.require("use_absolute_embeddings", false);
  Config config{.architecture = "",
                .width = read.integer("embed_dim", 96),
                .depths = read.integers("depths", {2, 2, 6, 2}),
                .heads = read.integers("num_heads", {3, 6, 12, 24}),
                .windows = {},
                .patch = read.side("patch_size", 4),
                .mlp_ratio = read.number("mlp_ratio", 4),
                .qkv_bias = read.flag("qkv_bias", true),
                .act = read.activation("hidden_act", "gelu"),
                .padded = true};
  const size_t stages = config.depths.size();
  if (config.heads.size() != stages)
    read.refuse("num_heads", std::to_string(stages) + " numbers, one per element of depths");
  for (size_t s = 0; s < stages; ++s)
    if (stages > 16 || (config.width << s) % config.heads[s] != 0)
      read.refuse("num_heads", "divisors of " + std::to_string(config.width) + " and its doubles");
  config.windows.assign(stages, read.integer("window_size", 7));
  return config;
}

Described described_by(const nlohmann::json& config) {
  if (ConfigReader(config).text("model_type", "") != "swin") return {};
  return described_among<Config>(variants(), config, from_transformers(config), config_of,
                                 [](const Config&, const Config&) { return true; });
}

}  // namespace ferry::swin
