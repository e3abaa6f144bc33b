#include <algorithm>
#include <nlohmann/json.hpp>

#include "converter/error.h"
#include "models/vision/convnext/convnext.h"
#include "models/vision/published.h"
#include "models/vision/transformers_config.h"

namespace ferry::convnext {
namespace {

const Config kConfigs[] = {
    {.architecture = "convnext_atto", .depths = {2, 2, 6, 2}, .widths = {40, 80, 160, 320}},
    {.architecture = "convnext_atto_ols",
     .depths = {2, 2, 6, 2},
     .widths = {40, 80, 160, 320},
     .stem = Stem::OverlapTiered},
    {.architecture = "convnext_femto", .depths = {2, 2, 6, 2}, .widths = {48, 96, 192, 384}},
    {.architecture = "convnext_femto_ols",
     .depths = {2, 2, 6, 2},
     .widths = {48, 96, 192, 384},
     .stem = Stem::OverlapTiered},
    {.architecture = "convnext_pico", .depths = {2, 2, 6, 2}, .widths = {64, 128, 256, 512}},
    {.architecture = "convnext_pico_ols",
     .depths = {2, 2, 6, 2},
     .widths = {64, 128, 256, 512},
     .stem = Stem::OverlapTiered},
    {.architecture = "convnext_nano", .depths = {2, 2, 8, 2}, .widths = {80, 160, 320, 640}},
    {.architecture = "convnext_nano_ols", .depths = {2, 2, 8, 2}, .widths = {80, 160, 320, 640}, .stem = Stem::Overlap},
    {.architecture = "convnext_tiny", .depths = {3, 3, 9, 3}, .widths = {96, 192, 384, 768}},
    {.architecture = "convnext_tiny_hnf", .depths = {3, 3, 9, 3}, .widths = {96, 192, 384, 768}, .norm_first = true},
    {.architecture = "convnext_small", .depths = {3, 3, 27, 3}, .widths = {96, 192, 384, 768}},
    {.architecture = "convnext_base", .depths = {3, 3, 27, 3}, .widths = {128, 256, 512, 1024}},
    {.architecture = "convnext_large", .depths = {3, 3, 27, 3}, .widths = {192, 384, 768, 1536}},
    {.architecture = "convnext_large_mlp",
     .depths = {3, 3, 27, 3},
     .widths = {192, 384, 768, 1536},
     .head_hidden = 1536},
    {.architecture = "convnext_xlarge", .depths = {3, 3, 27, 3}, .widths = {256, 512, 1024, 2048}},
    {.architecture = "convnext_xxlarge", .depths = {3, 4, 30, 3}, .widths = {384, 768, 1536, 3072}, .epsilon = 1e-5},
    {.architecture = "convnextv2_atto", .depths = {2, 2, 6, 2}, .widths = {40, 80, 160, 320}, .v2 = true},
    {.architecture = "convnextv2_femto", .depths = {2, 2, 6, 2}, .widths = {48, 96, 192, 384}, .v2 = true},
    {.architecture = "convnextv2_pico", .depths = {2, 2, 6, 2}, .widths = {64, 128, 256, 512}, .v2 = true},
    {.architecture = "convnextv2_nano", .depths = {2, 2, 8, 2}, .widths = {80, 160, 320, 640}, .v2 = true},
    {.architecture = "convnextv2_tiny", .depths = {3, 3, 9, 3}, .widths = {96, 192, 384, 768}, .v2 = true},
    {.architecture = "convnextv2_small", .depths = {3, 3, 27, 3}, .widths = {96, 192, 384, 768}, .v2 = true},
    {.architecture = "convnextv2_base", .depths = {3, 3, 27, 3}, .widths = {128, 256, 512, 1024}, .v2 = true},
    {.architecture = "convnextv2_large", .depths = {3, 3, 27, 3}, .widths = {192, 384, 768, 1536}, .v2 = true},
    {.architecture = "convnextv2_huge", .depths = {3, 3, 27, 3}, .widths = {352, 704, 1408, 2816}, .v2 = true},
    {.architecture = "dinov3_convnext_tiny", .depths = {3, 3, 9, 3}, .widths = {96, 192, 384, 768}, .tokens = true},
    {.architecture = "dinov3_convnext_small", .depths = {3, 3, 27, 3}, .widths = {96, 192, 384, 768}, .tokens = true},
    {.architecture = "dinov3_convnext_base", .depths = {3, 3, 27, 3}, .widths = {128, 256, 512, 1024}, .tokens = true},
    {.architecture = "dinov3_convnext_large", .depths = {3, 3, 27, 3}, .widths = {192, 384, 768, 1536}, .tokens = true},
};

Training squashed(int size) { return {.size = size, .crop_pct = 1, .squash = true}; }
Training clip(int size, std::optional<int> num_classes = {}) {
  return {.num_classes = num_classes, .size = size, .crop_pct = 1, .pixels = Pixels::Clip};
}
Training clip_squashed(int size, std::optional<int> num_classes = {}) {
  return {.num_classes = num_classes, .size = size, .crop_pct = 1, .squash = true, .pixels = Pixels::Clip};
}

// "facebook/convnext-tiny-224", "facebook/convnextv2-tiny-1k-224", with the settings of their preprocessor_config.json.
// From 384 pixels on, images are resized without preserving the aspect ratio.
ImageVariant transformers(const char* architecture, const char* tag, const char* hub, int num_classes = 1000,
                          int size = 224) {
  ImageVariant variant = ferry::transformers(
      architecture, tag, std::string("facebook/") + hub,
      size < 384 ? Training{.num_classes = num_classes}
                 : Training{.num_classes = num_classes, .size = size, .crop_pct = 1, .squash = true});
  variant.layer_norm_eps = 1e-12;
  return variant;
}

// "facebook/dinov3-convnext-tiny-pretrain-lvd1689m", with the settings of its preprocessor_config.json.
ImageVariant transformers_dinov3(const std::string& size) {
  return ferry::transformers("dinov3_convnext_" + size, "lvd1689m",
                             "facebook/dinov3-convnext-" + size + "-pretrain-lvd1689m",
                             {.num_classes = 0, .crop_pct = 1, .squash = true, .filter = fbs::Filter::Bilinear});
}

}  // namespace

const Config& config_of(const std::string& architecture) {
  for (const Config& config : kConfigs)
    if (architecture == config.architecture) return config;
  fail("no ConvNeXt is called '%s'", architecture.c_str());
}

// Settings of timm's pretrained configurations.
std::span<const ImageVariant> variants() {
  static const std::vector<ImageVariant> all = {
      timm("convnext_tiny", "in12k_ft_in1k", {.crop_pct = 0.95}),
      timm("convnext_small", "in12k_ft_in1k", {.crop_pct = 0.95}),
      timm("convnext_atto", "d2_in1k"),
      timm("convnext_atto_ols", "a2_in1k"),
      timm("convnext_femto", "d1_in1k"),
      timm("convnext_femto_ols", "d1_in1k"),
      timm("convnext_pico", "d1_in1k"),
      timm("convnext_pico_ols", "d1_in1k", {.crop_pct = 0.95}),
      timm("convnext_nano", "in12k_ft_in1k", {.crop_pct = 0.95}),
      timm("convnext_nano", "d1h_in1k", {.crop_pct = 0.95}),
      timm("convnext_nano_ols", "d1h_in1k", {.crop_pct = 0.95}),
      timm("convnext_tiny_hnf", "a2h_in1k", {.crop_pct = 0.95}),
      timm("convnext_nano", "r384_in12k_ft_in1k", {.size = 384, .crop_pct = 1.0}),
      timm("convnext_tiny", "in12k_ft_in1k_384", squashed(384)),
      timm("convnext_small", "in12k_ft_in1k_384", squashed(384)),
      timm("convnext_nano", "in12k", {.crop_pct = 0.95}),
      timm("convnext_nano", "r384_in12k", {.size = 384, .crop_pct = 1.0}),
      timm("convnext_nano", "r384_ad_in12k", {.size = 384, .crop_pct = 1.0}),
      timm("convnext_tiny", "in12k", {.crop_pct = 0.95}),
      timm("convnext_small", "in12k", {.crop_pct = 0.95}),
      timm("convnext_tiny", "fb_in22k_ft_in1k"),
      timm("convnext_small", "fb_in22k_ft_in1k"),
      timm("convnext_base", "fb_in22k_ft_in1k"),
      timm("convnext_large", "fb_in22k_ft_in1k"),
      timm("convnext_xlarge", "fb_in22k_ft_in1k"),
      timm("convnext_tiny", "fb_in1k"),
      timm("convnext_small", "fb_in1k"),
      timm("convnext_base", "fb_in1k"),
      timm("convnext_large", "fb_in1k"),
      timm("convnext_tiny", "fb_in22k_ft_in1k_384", squashed(384)),
      timm("convnext_small", "fb_in22k_ft_in1k_384", squashed(384)),
      timm("convnext_base", "fb_in22k_ft_in1k_384", squashed(384)),
      timm("convnext_large", "fb_in22k_ft_in1k_384", squashed(384)),
      timm("convnext_xlarge", "fb_in22k_ft_in1k_384", squashed(384)),
      timm("convnext_tiny", "fb_in22k"),
      timm("convnext_small", "fb_in22k"),
      timm("convnext_base", "fb_in22k"),
      timm("convnext_large", "fb_in22k"),
      timm("convnext_xlarge", "fb_in22k"),
      timm("convnextv2_nano", "fcmae_ft_in22k_in1k"),
      timm("convnextv2_nano", "fcmae_ft_in22k_in1k_384", squashed(384)),
      timm("convnextv2_tiny", "fcmae_ft_in22k_in1k"),
      timm("convnextv2_tiny", "fcmae_ft_in22k_in1k_384", squashed(384)),
      timm("convnextv2_base", "fcmae_ft_in22k_in1k"),
      timm("convnextv2_base", "fcmae_ft_in22k_in1k_384", squashed(384)),
      timm("convnextv2_large", "fcmae_ft_in22k_in1k"),
      timm("convnextv2_large", "fcmae_ft_in22k_in1k_384", squashed(384)),
      timm("convnextv2_huge", "fcmae_ft_in22k_in1k_384", squashed(384)),
      timm("convnextv2_huge", "fcmae_ft_in22k_in1k_512", squashed(512)),
      timm("convnextv2_atto", "fcmae_ft_in1k"),
      timm("convnextv2_femto", "fcmae_ft_in1k"),
      timm("convnextv2_pico", "fcmae_ft_in1k"),
      timm("convnextv2_nano", "fcmae_ft_in1k"),
      timm("convnextv2_tiny", "fcmae_ft_in1k"),
      timm("convnextv2_base", "fcmae_ft_in1k"),
      timm("convnextv2_large", "fcmae_ft_in1k"),
      timm("convnextv2_huge", "fcmae_ft_in1k"),
      timm("convnextv2_small", ""),
      timm("convnext_base", "clip_laion2b_augreg_ft_in12k_in1k", clip(256)),
      timm("convnext_base", "clip_laion2b_augreg_ft_in12k_in1k_384", clip_squashed(384)),
      timm("convnext_large_mlp", "clip_laion2b_soup_ft_in12k_in1k_320", clip(320)),
      timm("convnext_large_mlp", "clip_laion2b_soup_ft_in12k_in1k_384", clip_squashed(384)),
      timm("convnext_base", "clip_laion2b_augreg_ft_in1k", clip(256)),
      timm("convnext_base", "clip_laiona_augreg_ft_in1k_384", clip(384)),
      timm("convnext_large_mlp", "clip_laion2b_augreg_ft_in1k", clip(256)),
      timm("convnext_large_mlp", "clip_laion2b_augreg_ft_in1k_384", clip_squashed(384)),
      timm("convnext_xxlarge", "clip_laion2b_soup_ft_in1k", clip(256)),
      timm("convnext_base", "clip_laion2b_augreg_ft_in12k", clip(256)),
      timm("convnext_large_mlp", "clip_laion2b_soup_ft_in12k_320", clip(320, 11821)),
      timm("convnext_large_mlp", "clip_laion2b_augreg_ft_in12k_384", clip_squashed(384, 11821)),
      timm("convnext_large_mlp", "clip_laion2b_soup_ft_in12k_384", clip_squashed(384, 11821)),
      timm("convnext_xxlarge", "clip_laion2b_soup_ft_in12k", clip(256)),
      timm("convnext_base", "clip_laion2b", clip(256, 640)),
      timm("convnext_base", "clip_laion2b_augreg", clip(256, 640)),
      timm("convnext_base", "clip_laiona", clip(256, 640)),
      timm("convnext_base", "clip_laiona_320", clip(320, 640)),
      timm("convnext_base", "clip_laiona_augreg_320", clip(320, 640)),
      timm("convnext_large_mlp", "clip_laion2b_augreg", clip(256, 768)),
      timm("convnext_large_mlp", "clip_laion2b_ft_320", clip(320, 768)),
      timm("convnext_large_mlp", "clip_laion2b_ft_soup_320", clip(320, 768)),
      timm("convnext_xxlarge", "clip_laion2b_soup", clip(256, 1024)),
      timm("convnext_xxlarge", "clip_laion2b_rewind", clip(256, 1024)),
      timm("convnext_tiny", "dinov3_lvd1689m", {.num_classes = 0, .crop_pct = 1.0}),
      timm("convnext_small", "dinov3_lvd1689m", {.num_classes = 0, .crop_pct = 1.0}),
      timm("convnext_base", "dinov3_lvd1689m", {.num_classes = 0, .crop_pct = 1.0}),
      timm("convnext_large", "dinov3_lvd1689m", {.num_classes = 0, .crop_pct = 1.0}),
      timm("convnext_tiny", "eupe_lvd1689m", {.num_classes = 0, .size = 256, .crop_pct = 1.0}),
      timm("convnext_small", "eupe_lvd1689m", {.num_classes = 0, .size = 256, .crop_pct = 1.0}),
      timm("convnext_base", "eupe_lvd1689m", {.num_classes = 0, .size = 256, .crop_pct = 1.0}),
      transformers_dinov3("tiny"),
      transformers_dinov3("small"),
      transformers_dinov3("base"),
      transformers_dinov3("large"),
      transformers("convnext_tiny", "", "convnext-tiny-224"),
      transformers("convnext_small", "", "convnext-small-224"),
      transformers("convnext_base", "", "convnext-base-224"),
      transformers("convnext_large", "", "convnext-large-224"),
      transformers("convnext_base", "384", "convnext-base-384", 1000, 384),
      transformers("convnext_large", "384", "convnext-large-384", 1000, 384),
      transformers("convnext_base", "22k_1k", "convnext-base-224-22k-1k"),
      transformers("convnext_base", "22k_1k_384", "convnext-base-384-22k-1k", 1000, 384),
      transformers("convnext_base", "22k", "convnext-base-224-22k", 21841),
      transformers("convnext_large", "22k_1k", "convnext-large-224-22k-1k"),
      transformers("convnext_large", "22k_1k_384", "convnext-large-384-22k-1k", 1000, 384),
      transformers("convnext_large", "22k", "convnext-large-224-22k", 21841),
      transformers("convnext_xlarge", "22k_1k", "convnext-xlarge-224-22k-1k"),
      transformers("convnext_xlarge", "22k_1k_384", "convnext-xlarge-384-22k-1k", 1000, 384),
      transformers("convnext_xlarge", "22k", "convnext-xlarge-224-22k", 21841),
      transformers("convnextv2_atto", "", "convnextv2-atto-1k-224"),
      transformers("convnextv2_femto", "", "convnextv2-femto-1k-224"),
      transformers("convnextv2_pico", "", "convnextv2-pico-1k-224"),
      transformers("convnextv2_nano", "", "convnextv2-nano-1k-224"),
      transformers("convnextv2_tiny", "", "convnextv2-tiny-1k-224"),
      transformers("convnextv2_base", "", "convnextv2-base-1k-224"),
      transformers("convnextv2_large", "", "convnextv2-large-1k-224"),
      transformers("convnextv2_huge", "", "convnextv2-huge-1k-224"),
      transformers("convnextv2_nano", "22k_1k", "convnextv2-nano-22k-224"),
      transformers("convnextv2_nano", "22k_1k_384", "convnextv2-nano-22k-384", 1000, 384),
      transformers("convnextv2_tiny", "22k_1k", "convnextv2-tiny-22k-224"),
      transformers("convnextv2_tiny", "22k_1k_384", "convnextv2-tiny-22k-384", 1000, 384),
      transformers("convnextv2_base", "22k_1k", "convnextv2-base-22k-224"),
      transformers("convnextv2_base", "22k_1k_384", "convnextv2-base-22k-384", 1000, 384),
      transformers("convnextv2_large", "22k_1k", "convnextv2-large-22k-224"),
      transformers("convnextv2_large", "22k_1k_384", "convnextv2-large-22k-384", 1000, 384),
      transformers("convnextv2_huge", "22k_1k_384", "convnextv2-huge-22k-384", 1000, 384),
      transformers("convnextv2_huge", "22k_1k_512", "convnextv2-huge-22k-512", 1000, 512),
  };
  return all;
}

Config from_transformers(const nlohmann::json& json) {
  const ConfigReader read(json);
  Config config{.architecture = "",
                .depths = read.integers("depths", {3, 3, 9, 3}),
                .widths = read.integers("hidden_sizes", {96, 192, 384, 768}),
                .v2 = json["model_type"] == "convnextv2",
                .tokens = json["model_type"] == "dinov3_convnext",
                .act = read.activation("hidden_act", "gelu")};
  if (config.depths.size() != config.widths.size())
    read.refuse("depths", std::to_string(config.widths.size()) + " numbers, one per element of hidden_sizes");
  // In the other models the setting applies to the last norm alone (ImageVariant::layer_norm_eps).
  if (config.tokens)
    config.epsilon = read.number("layer_norm_eps", 1e-6);
  else
    config.patch = read.side("patch_size", 4);
  if (!config.v2) config.layer_scale = !json.contains("layer_scale_init_value") || json["layer_scale_init_value"] > 0;
  return config;
}

Described described_by(const nlohmann::json& config) {
  const std::string type = ConfigReader(config).text("model_type", "");
  if (type != "convnext" && type != "convnextv2" && type != "dinov3_convnext") return {};
  return described_among<Config>(variants(), config, from_transformers(config), config_of,
                                 [](const Config& known, const Config& network) {
                                   return known.tokens == network.tokens && known.v2 == network.v2;
                                 });
}

}  // namespace ferry::convnext
