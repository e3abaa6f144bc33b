#include <algorithm>
#include <nlohmann/json.hpp>

#include "converter/error.h"
#include "models/vision/published.h"
#include "models/vision/swin/swin.h"

namespace ferry::swin {
namespace {

constexpr Config kConfigs[] = {
    {"swin_tiny_patch4_window7_224", 96, {2, 2, 6, 2}, 3, {7, 7, 7, 7}},
    {"swin_small_patch4_window7_224", 96, {2, 2, 18, 2}, 3, {7, 7, 7, 7}},
    {"swin_base_patch4_window7_224", 128, {2, 2, 18, 2}, 4, {7, 7, 7, 7}},
    {"swin_base_patch4_window12_384", 128, {2, 2, 18, 2}, 4, {12, 12, 12, 12}},
    {"swin_large_patch4_window7_224", 192, {2, 2, 18, 2}, 6, {7, 7, 7, 7}},
    {"swin_large_patch4_window12_384", 192, {2, 2, 18, 2}, 6, {12, 12, 12, 12}},
    {"swin_s3_tiny_224", 96, {2, 2, 6, 2}, 3, {7, 7, 14, 7}},
    {"swin_s3_small_224", 96, {2, 2, 18, 2}, 3, {14, 14, 14, 7}},
    {"swin_s3_base_224", 96, {2, 2, 30, 2}, 3, {7, 7, 14, 7}},
    {"swin_t", 96, {2, 2, 6, 2}, 3, {7, 7, 7, 7}},
    {"swin_s", 96, {2, 2, 18, 2}, 3, {7, 7, 7, 7}},
    {"swin_b", 128, {2, 2, 18, 2}, 4, {7, 7, 7, 7}},
};

PictureVariant timm(const char* architecture, const char* tag, int size = 224) {
  return ferry::timm(architecture, tag, {.size = size, .crop_pct = size == 224 ? 0.9 : 1.0});
}

// crop_pct: shorter edge 232, 246 or 238.
PictureVariant torchvision(const char* architecture, double crop_pct) {
  return ferry::torchvision(architecture, "v1", {.crop_pct = crop_pct, .filter = fbs::Filter::Bicubic});
}

// "microsoft/swin-tiny-patch4-window7-224", pictures as its preprocessor_config.json has them.
PictureVariant transformers(const std::string& size, int window, const char* tag = "", int num_classes = 1000) {
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

// Settings as in timm's pretrained configurations and torchvision's weight transforms.
std::span<const PictureVariant> variants() {
  static const PictureVariant table[] = {
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

std::string architecture_of(const nlohmann::json& config) {
  if (config.value("model_type", "") != "swin") return "";
  const auto depths = config.value("depths", std::vector<int>{2, 2, 6, 2});
  const auto heads = config.value("num_heads", std::vector<int>{3, 6, 12, 24});
  const int window = config.value("window_size", 7);
  const bool plain = config.value("patch_size", 4) == 4 && config.value("mlp_ratio", 4.0) == 4 &&
                     config.value("qkv_bias", true) && !config.value("use_absolute_embeddings", false) &&
                     config.value("hidden_act", "gelu") == "gelu";
  for (const PictureVariant& variant : variants()) {
    if (!plain || variant.framework != "transformers") continue;
    const Config& known = config_of(variant.architecture);
    const int h = known.heads;
    if (known.width == config.value("embed_dim", 96) && std::ranges::equal(depths, known.depths) &&
        heads == std::vector<int>{h, 2 * h, 4 * h, 8 * h} && known.windows[0] == window)
      return known.architecture;
  }
  fail(
      "config.json describes a Swin Transformer that is none of those known here (embed_dim, depths, num_heads, "
      "window_size, patch_size, mlp_ratio, qkv_bias, use_absolute_embeddings or hidden_act differs)");
}

}  // namespace ferry::swin
