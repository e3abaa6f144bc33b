#include <nlohmann/json.hpp>

#include "converter/error.h"
#include "models/vision/dinov3/dinov3.h"
#include "models/vision/published.h"

namespace ferry::dinov3 {
namespace {

struct Size {
  int width, depth, heads, hidden;
  bool gated = false;
};
constexpr Size kTiny{192, 12, 3, 768};
constexpr Size kSmall{384, 12, 6, 1536};
constexpr Size kSmallPlus{384, 12, 6, 1536, true};
constexpr Size kBase{768, 12, 12, 3072};
constexpr Size kLarge{1024, 24, 16, 4096};
constexpr Size kHugePlus{1280, 32, 20, 5120, true};
constexpr Size kSevenB{4096, 40, 32, 8192, true};

// timm's, which pools the patches.
constexpr Config eva(const char* architecture, const Size& size, bool qkv_bias) {
  return {.architecture = architecture,
          .width = size.width,
          .depth = size.depth,
          .heads = size.heads,
          .hidden = size.hidden,
          .gated = size.gated,
          .qkv_bias = qkv_bias};
}

// The authors' own and transformers', which give the class token.
constexpr Config own(const char* architecture, const Size& size, bool qkv_bias = true) {
  Config config = eva(architecture, size, qkv_bias);
  config.class_pool = true;
  return config;
}

constexpr Config kConfigs[] = {
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

// Pictures of the training on satellite images.
void look_from_above(PictureVariant* variant) {
  variant->picture.mean = {0.430f, 0.411f, 0.296f};
  variant->picture.std = {0.213f, 0.156f, 0.143f};
}

PictureVariant timm(const char* architecture, const char* tag, bool satellite = false) {
  PictureVariant variant = ferry::timm(architecture, tag, {.num_classes = 0, .size = 256, .crop_pct = 1});
  if (satellite) look_from_above(&variant);
  return variant;
}

// "facebook/dinov3-vits16-pretrain-lvd1689m"
PictureVariant transformers(const std::string& size, const char* tag, bool satellite = false) {
  PictureVariant variant =
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

// Settings as in timm's pretrained configurations, and the preprocessor_config.json of the facebook/dinov3-*
// repositories.
std::span<const PictureVariant> variants() {
  static const std::vector<PictureVariant> all = {
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

std::string architecture_of(const nlohmann::json& config) {
  if (config.value("model_type", "") != "dinov3_vit") return "";
  const bool gated = config.value("use_gated_mlp", false);
  const bool biased = config.value("query_bias", true);
  const bool plain = config.value("patch_size", 16) == 16 && config.value("num_register_tokens", 4) == 4 &&
                     config.value("layer_norm_eps", 1e-5) == 1e-5 && config.value("rope_theta", 100.0) == 100.0 &&
                     config.value("hidden_act", "gelu") == (gated ? "silu" : "gelu") &&
                     config.value("value_bias", true) == biased && !config.value("key_bias", false) &&
                     config.value("proj_bias", true) && config.value("mlp_bias", true);
  for (const Config& known : kConfigs)
    if (plain && known.class_pool && known.width == config.value("hidden_size", 384) &&
        known.depth == config.value("num_hidden_layers", 12) && known.heads == config.value("num_attention_heads", 6) &&
        known.hidden == config.value("intermediate_size", 1536) && known.gated == gated && known.qkv_bias == biased)
      return known.architecture;
  fail(
      "config.json describes a DINOv3 that is none of those known here (its sizes, use_gated_mlp, hidden_act, a bias "
      "flag, patch_size, num_register_tokens, layer_norm_eps or rope_theta differs): the known ones are vits16, "
      "vits16plus, vitb16, vitl16, vith16plus and vit7b16");
}

}  // namespace ferry::dinov3
