#include <nlohmann/json.hpp>

#include "converter/error.h"
#include "models/vision/dinov3/dinov3.h"
#include "models/vision/published.h"
#include "models/vision/transformers_config.h"

namespace ferry::dinov3 {
namespace {

struct VitSize {
  int width, depth, heads, hidden;
  bool gated = false;
};
constexpr VitSize kTiny{192, 12, 3, 768};
constexpr VitSize kSmall{384, 12, 6, 1536};
constexpr VitSize kSmallPlus{384, 12, 6, 1536, true};
constexpr VitSize kBase{768, 12, 12, 3072};
constexpr VitSize kLarge{1024, 24, 16, 4096};
constexpr VitSize kHugePlus{1280, 32, 20, 5120, true};
constexpr VitSize kSevenB{4096, 40, 32, 8192, true};

// timm's, pooled by the mean of the patches.
Config eva(const char* architecture, const VitSize& size, bool qkv_bias) {
  return {.architecture = architecture,
          .width = size.width,
          .depth = size.depth,
          .heads = size.heads,
          .hidden = size.hidden,
          .gated = size.gated,
          .qkv_bias = qkv_bias,
          .act = size.gated ? silu : gelu};
}

// The authors' and transformers', pooled by the class token.
Config own(const char* architecture, const VitSize& size, bool qkv_bias = true) {
  Config config = eva(architecture, size, qkv_bias);
  config.class_pool = true;
  return config;
}

const Config kConfigs[] = {
    eva("vit_tiny_patch16_dinov3_qkvb", kTiny, true),
    eva("vit_small_patch16_dinov3", kSmall, false),
    eva("vit_small_patch16_dinov3_qkvb", kSmall, true),
    eva("vit_small_plus_patch16_dinov3", kSmallPlus, false),
    eva("vit_small_plus_patch16_dinov3_qkvb", kSmallPlus, true),
    eva("vit_base_patch16_dinov3", kBase, false),
    eva("vit_base_patch16_dinov3_qkvb", kBase, true),
    eva("vit_large_patch16_dinov3", kLarge, false),
    eva("vit_large_patch16_dinov3_qkvb", kLarge, true),
    eva("vit_huge_plus_patch16_dinov3", kHugePlus, false),
    eva("vit_huge_plus_patch16_dinov3_qkvb", kHugePlus, true),
    eva("vit_7b_patch16_dinov3", kSevenB, false),
    own("dinov3_vits16", kSmall),
    own("dinov3_vits16plus", kSmallPlus),
    own("dinov3_vitb16", kBase),
    own("dinov3_vitl16", kLarge),
    own("dinov3_vith16plus", kHugePlus),
    own("dinov3_vit7b16", kSevenB, false),
};

// Normalization of the training on satellite images.
void look_from_above(ImageVariant* variant) {
  variant->image.mean = {0.430f, 0.411f, 0.296f};
  variant->image.std = {0.213f, 0.156f, 0.143f};
}

ImageVariant timm(const char* architecture, const char* tag, bool satellite = false) {
  ImageVariant variant = ferry::timm(architecture, tag, {.num_classes = 0, .size = 256, .crop_pct = 1});
  if (satellite) look_from_above(&variant);
  return variant;
}

// "facebook/dinov3-vits16-pretrain-lvd1689m"
ImageVariant transformers(const std::string& size, const char* tag, bool satellite = false) {
  ImageVariant variant =
      ferry::transformers("dinov3_" + size, tag, "facebook/dinov3-" + size + "-pretrain-" + tag,
                          {.num_classes = 0, .crop_pct = 1, .squash = true, .filter = fbs::Filter::Bilinear});
  if (satellite) look_from_above(&variant);
  return variant;
}

}  // namespace

const Config& config_of(const std::string& architecture) {
  for (const Config& config : kConfigs)
    if (architecture == config.architecture) return config;
  fail("no DINOv3 is called '%s'", architecture.c_str());
}

// Settings of timm's pretrained configurations, and of the preprocessor_config.json of the facebook/dinov3-*
// repositories.
std::span<const ImageVariant> variants() {
  static const std::vector<ImageVariant> all = {
      timm("vit_small_patch16_dinov3", "lvd1689m"),
      timm("vit_small_patch16_dinov3_qkvb", "lvd1689m"),
      timm("vit_small_plus_patch16_dinov3", "lvd1689m"),
      timm("vit_small_plus_patch16_dinov3_qkvb", "lvd1689m"),
      timm("vit_base_patch16_dinov3", "lvd1689m"),
      timm("vit_base_patch16_dinov3_qkvb", "lvd1689m"),
      timm("vit_tiny_patch16_dinov3_qkvb", "eupe_lvd1689m"),
      timm("vit_small_patch16_dinov3_qkvb", "eupe_lvd1689m"),
      timm("vit_base_patch16_dinov3_qkvb", "eupe_lvd1689m"),
      timm("vit_large_patch16_dinov3", "lvd1689m"),
      timm("vit_large_patch16_dinov3_qkvb", "lvd1689m"),
      timm("vit_large_patch16_dinov3", "sat493m", true),
      timm("vit_large_patch16_dinov3_qkvb", "sat493m", true),
      timm("vit_huge_plus_patch16_dinov3", "lvd1689m"),
      timm("vit_huge_plus_patch16_dinov3_qkvb", "lvd1689m"),
      timm("vit_7b_patch16_dinov3", "lvd1689m"),
      timm("vit_7b_patch16_dinov3", "sat493m", true),
      transformers("vits16", "lvd1689m"),
      transformers("vits16plus", "lvd1689m"),
      transformers("vitb16", "lvd1689m"),
      transformers("vitl16", "lvd1689m"),
      transformers("vitl16", "sat493m", true),
      transformers("vith16plus", "lvd1689m"),
      transformers("vit7b16", "lvd1689m"),
      transformers("vit7b16", "sat493m", true),
  };
  return all;
}

Config from_transformers(const nlohmann::json& json) {
  const ConfigReader read(json);
  Config config{.architecture = "",
                .width = read.integer("hidden_size", 384),
                .depth = read.integer("num_hidden_layers", 12),
                .heads = read.integer("num_attention_heads", 6),
                .hidden = read.integer("intermediate_size", 1536),
                .gated = read.flag("use_gated_mlp", false),
                .class_pool = true,
                .patch = read.side("patch_size", 16),
                .registers = read.integer("num_register_tokens", 4, 0),
                .epsilon = read.number("layer_norm_eps", 1e-5),
                .theta = read.number("rope_theta", 100),
                .act = read.activation("hidden_act", "gelu"),
                .mlp_bias = read.flag("mlp_bias", true)};
  // Each axis rotates a quarter of a head's channels in pairs.
  if (config.width % (4 * config.heads) != 0)
    read.refuse("num_attention_heads",
                "heads of a multiple of 4 channels, of hidden_size " + std::to_string(config.width));
  const SelfAttentionOptions::Biases biases = {
      .query = read.flag("query_bias", true),
      .key = read.flag("key_bias", false),
      .value = read.flag("value_bias", true),
      .output = read.flag("proj_bias", true),
  };
  config.qkv_bias = biases.query;
  if (biases.query != biases.value || biases.key || !biases.output) config.biases = biases;
  return config;
}

Described described_by(const nlohmann::json& config) {
  if (ConfigReader(config).text("model_type", "") != "dinov3_vit") return {};
  return described_among<Config>(variants(), config, from_transformers(config), config_of,
                                 [](const Config& known, const Config&) { return known.class_pool; });
}

}  // namespace ferry::dinov3
