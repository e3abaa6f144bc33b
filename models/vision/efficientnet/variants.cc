#include "converter/error.h"
#include "models/vision/efficientnet/efficientnet.h"
#include "models/vision/published.h"

namespace ferry::efficientnet {
namespace {

using enum fbs::Filter;
using enum Pixels;

constexpr Config kConfigs[] = {
    {.architecture = "efficientnet_b0"},
    {.architecture = "efficientnet_b1", .depth = 1.1, .size = 240},
    {.architecture = "efficientnet_b2", .width = 1.1, .depth = 1.2, .size = 260},
    {.architecture = "efficientnet_b3", .width = 1.2, .depth = 1.4, .size = 300},
    {.architecture = "efficientnet_b4", .width = 1.4, .depth = 1.8, .size = 380},
    {.architecture = "efficientnet_b5", .width = 1.6, .depth = 2.2, .size = 456},
    {.architecture = "efficientnet_b6", .width = 1.8, .depth = 2.6, .size = 528},
    {.architecture = "efficientnet_b7", .width = 2.0, .depth = 3.1, .size = 600},
    {.architecture = "efficientnet_lite0", .lite = true},
    {.architecture = "efficientnet_lite1", .depth = 1.1, .size = 240, .lite = true},
    {.architecture = "efficientnet_lite2", .width = 1.1, .depth = 1.2, .size = 260, .lite = true},
    {.architecture = "efficientnet_lite3", .width = 1.2, .depth = 1.4, .size = 300, .lite = true},
    {.architecture = "efficientnet_lite4", .width = 1.4, .depth = 1.8, .size = 380, .lite = true},
};

// The share of an image that the crop keeps: the margin is 32 pixels for every size.
double crop_pct_of(int size) {
  switch (size) {
    case 224: return 0.875;
    case 240: return 0.882;
    case 260: return 0.89;
    case 300: return 0.904;
    case 380: return 0.922;
    case 456: return 0.934;
    case 528: return 0.942;
    default: return 0.949;
  }
}

// An architecture with its native image size.
ImageVariant designed(const std::string& architecture, const std::string& tag = "", Training training = {}) {
  training.size = config_of(architecture).size;
  training.crop_pct = training.crop_pct.value_or(crop_pct_of(training.size));
  return timm(architecture, tag, training);
}

// `resize`: the size of the shorter edge.
ImageVariant torchvision(const char* architecture, const char* tag, int resize, int size, fbs::Filter filter = Bicubic,
                         const char* digest = "") {
  // Every share in a range floors to `resize`; its centre is safe from rounding.
  const double crop_pct = resize == size ? 1 : size / (resize + 0.5);
  return ferry::torchvision(architecture, tag,
                            {.size = size, .crop_pct = crop_pct, .filter = filter, .digest = digest});
}

// Settings of timm's pretrained configurations and torchvision's weight transforms.
std::vector<ImageVariant> make_variants() {
  std::vector<ImageVariant> all = {
      designed("efficientnet_b0", "ra_in1k"),
      timm("efficientnet_b0", "ra4_e3600_r224_in1k", {.size = 224, .crop_pct = 0.9, .pixels = Inception}),
      timm("efficientnet_b1", "ra4_e3600_r240_in1k", {.size = 240, .crop_pct = 0.9, .pixels = Inception}),
      timm("efficientnet_b1", "ft_in1k"),
      timm("efficientnet_b2", "ra_in1k", {.size = 256}),
      timm("efficientnet_b3", "ra2_in1k", {.size = 288}),
      timm("efficientnet_b4", "ra2_in1k", {.size = 320}),
      timm("efficientnet_b5", "sw_in12k", {.size = 416, .crop_pct = 0.95}),
      designed("efficientnet_b6"),
      designed("efficientnet_b7"),
      designed("efficientnet_lite0", "ra_in1k"),
      designed("efficientnet_lite1"),
      designed("efficientnet_lite2"),
      designed("efficientnet_lite3"),
      designed("efficientnet_lite4"),
      torchvision("efficientnet_b0", "v1", 256, 224),
      torchvision("efficientnet_b1", "v2", 255, 240, Bilinear, "c27df63c"),
      torchvision("efficientnet_b1", "v1", 256, 240, Bicubic, "533bc792"),
      torchvision("efficientnet_b2", "v1", 288, 288),
      torchvision("efficientnet_b3", "v1", 320, 300),
      torchvision("efficientnet_b4", "v1", 384, 380),
      torchvision("efficientnet_b5", "v1", 456, 456),
      torchvision("efficientnet_b6", "v1", 528, 528),
      torchvision("efficientnet_b7", "v1", 600, 600),
  };
  // Google's weights: NoisyStudent, AdvProp, AutoAugment, RandAugment, and the original ones.
  for (int b = 0; b <= 7; ++b) {
    const std::string architecture = "tf_efficientnet_b" + std::to_string(b);
    all.push_back(designed(architecture, "ns_jft_in1k"));
    all.push_back(designed(architecture, "ap_in1k", {.pixels = Inception}));
    all.push_back(designed(architecture, "aa_in1k"));
    if (b == 5 || b == 7) all.push_back(designed(architecture, "ra_in1k"));
    if (b <= 5) all.push_back(designed(architecture, "in1k"));
  }
  for (int n = 0; n <= 4; ++n) {
    Training training = {.filter = n >= 3 ? Bilinear : Bicubic, .pixels = Inception};
    if (n == 4) training.crop_pct = 0.92;
    all.push_back(designed("tf_efficientnet_lite" + std::to_string(n), "in1k", training));
  }
  return all;
}

}  // namespace

const Config& config_of(const std::string& architecture) {
  const std::string name = architecture.starts_with("tf_") ? architecture.substr(3) : architecture;
  for (const Config& config : kConfigs)
    if (name == config.architecture) return config;
  fail("no EfficientNet is called '%s'", architecture.c_str());
}

std::span<const ImageVariant> variants() {
  static const std::vector<ImageVariant> all = make_variants();
  return all;
}

}  // namespace ferry::efficientnet
