#include "converter/error.h"
#include "models/published.h"
#include "models/swin/swin.h"

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

Variant timm(const char* architecture, const char* tag, int size = 224) {
  return ferry::timm(architecture, tag, {.size = size, .crop_pct = size == 224 ? 0.9 : 1.0});
}

// crop_pct: shorter edge 232, 246 or 238.
Variant torchvision(const char* architecture, double crop_pct) {
  return ferry::torchvision(architecture, "v1", {.crop_pct = crop_pct, .filter = fbs::Filter::Bicubic});
}

}  // namespace

const Config& config_of(const std::string& architecture) {
  for (const Config& config : kConfigs)
    if (architecture == config.architecture) return config;
  fail("no Swin Transformer is called '%s'", architecture.c_str());
}

// Settings as in timm's pretrained configurations and torchvision's weight transforms.
std::span<const Variant> variants() {
  static const Variant table[] = {
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
  };
  return table;
}

}  // namespace ferry::swin
