#include <algorithm>
#include <nlohmann/json.hpp>

#include "converter/error.h"
#include "models/convnext/convnext.h"
#include "models/published.h"

namespace ferry::convnext {
namespace {

constexpr Config kConfigs[] = {
    {.architecture = "convnext_atto", .depths = {2, 2, 6, 2}, .widths = {40, 80, 160, 320}, .conv_mlp = true},
    {.architecture = "convnext_atto_ols",
     .depths = {2, 2, 6, 2},
     .widths = {40, 80, 160, 320},
     .conv_mlp = true,
     .stem = Stem::OverlapTiered},
    {.architecture = "convnext_femto", .depths = {2, 2, 6, 2}, .widths = {48, 96, 192, 384}, .conv_mlp = true},
    {.architecture = "convnext_femto_ols",
     .depths = {2, 2, 6, 2},
     .widths = {48, 96, 192, 384},
     .conv_mlp = true,
     .stem = Stem::OverlapTiered},
    {.architecture = "convnext_pico", .depths = {2, 2, 6, 2}, .widths = {64, 128, 256, 512}, .conv_mlp = true},
    {.architecture = "convnext_pico_ols",
     .depths = {2, 2, 6, 2},
     .widths = {64, 128, 256, 512},
     .conv_mlp = true,
     .stem = Stem::OverlapTiered},
    {.architecture = "convnext_nano", .depths = {2, 2, 8, 2}, .widths = {80, 160, 320, 640}, .conv_mlp = true},
    {.architecture = "convnext_nano_ols",
     .depths = {2, 2, 8, 2},
     .widths = {80, 160, 320, 640},
     .conv_mlp = true,
     .stem = Stem::Overlap},
    {.architecture = "convnext_tiny", .depths = {3, 3, 9, 3}, .widths = {96, 192, 384, 768}},
    {.architecture = "convnext_tiny_hnf",
     .depths = {3, 3, 9, 3},
     .widths = {96, 192, 384, 768},
     .conv_mlp = true,
     .norm_first = true},
    {.architecture = "convnext_small", .depths = {3, 3, 27, 3}, .widths = {96, 192, 384, 768}},
    {.architecture = "convnext_base", .depths = {3, 3, 27, 3}, .widths = {128, 256, 512, 1024}},
    {.architecture = "convnext_large", .depths = {3, 3, 27, 3}, .widths = {192, 384, 768, 1536}},
    {.architecture = "convnext_large_mlp",
     .depths = {3, 3, 27, 3},
     .widths = {192, 384, 768, 1536},
     .head_hidden = 1536},
    {.architecture = "convnext_xlarge", .depths = {3, 3, 27, 3}, .widths = {256, 512, 1024, 2048}},
    {.architecture = "convnext_xxlarge", .depths = {3, 4, 30, 3}, .widths = {384, 768, 1536, 3072}, .epsilon = 1e-5},
    {.architecture = "convnextv2_atto",
     .depths = {2, 2, 6, 2},
     .widths = {40, 80, 160, 320},
     .conv_mlp = true,
     .v2 = true},
    {.architecture = "convnextv2_femto",
     .depths = {2, 2, 6, 2},
     .widths = {48, 96, 192, 384},
     .conv_mlp = true,
     .v2 = true},
    {.architecture = "convnextv2_pico",
     .depths = {2, 2, 6, 2},
     .widths = {64, 128, 256, 512},
     .conv_mlp = true,
     .v2 = true},
    {.architecture = "convnextv2_nano",
     .depths = {2, 2, 8, 2},
     .widths = {80, 160, 320, 640},
     .conv_mlp = true,
     .v2 = true},
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

// "facebook/dinov3-convnext-tiny-pretrain-lvd1689m"; settings as in its preprocessor_config.json.
Variant transformers(const std::string& size) {
  return {.architecture = "dinov3_convnext_" + size,
          .tag = "lvd1689m",
          .framework = "transformers",
          .hub = "facebook/dinov3-convnext-" + size + "-pretrain-lvd1689m",
          .num_classes = 0,
          .picture = {.filter = fbs::Filter::Bilinear, .crop_pct = 1, .crop_mode = CropMode::Squash}};
}

}  // namespace

const Config& config_of(const std::string& architecture) {
  for (const Config& config : kConfigs)
    if (architecture == config.architecture) return config;
  fail("no ConvNeXt is called '%s'", architecture.c_str());
}

// Settings as in timm's pretrained configurations.
std::span<const Variant> variants() {
  static const std::vector<Variant> all = {
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
      transformers("tiny"),
      transformers("small"),
      transformers("base"),
      transformers("large"),
  };
  return all;
}

std::string architecture_of(const nlohmann::json& config) {
  if (config.value("model_type", "") != "dinov3_convnext") return "";
  const auto depths = config.value("depths", std::vector<int>{3, 3, 9, 3});
  const auto widths = config.value("hidden_sizes", std::vector<int>{96, 192, 384, 768});
  const bool plain = config.value("hidden_act", "gelu") == "gelu" && config.value("layer_norm_eps", 1e-6) == 1e-6;
  for (const Config& known : kConfigs)
    if (plain && known.tokens && std::ranges::equal(depths, known.depths) && std::ranges::equal(widths, known.widths))
      return known.architecture;
  fail(
      "config.json describes a DINOv3 ConvNeXt that is none of those known here (depths, hidden_sizes, hidden_act or "
      "layer_norm_eps differs): the known ones are tiny, small, base and large");
}

}  // namespace ferry::convnext
