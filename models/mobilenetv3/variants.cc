#include "converter/error.h"
#include "models/mobilenetv3/mobilenetv3.h"

namespace ferry::mobilenetv3 {
namespace {

constexpr bool kLarge = true, kSmall = false;
constexpr Config kConfigs[] = {
    {.architecture = "mobilenetv3_large_075", .large = kLarge, .width = 0.75},
    {.architecture = "mobilenetv3_large_100", .large = kLarge},
    {.architecture = "mobilenetv3_large_minimal_100", .large = kLarge, .minimal = true},
    {.architecture = "mobilenetv3_small_050", .large = kSmall, .width = 0.5},
    {.architecture = "mobilenetv3_small_075", .large = kSmall, .width = 0.75},
    {.architecture = "mobilenetv3_small_100", .large = kSmall},
    {.architecture = "mobilenetv3_small_minimal_100", .large = kSmall, .minimal = true},
    {.architecture = "mobilenet_v3_large", .large = kLarge},  // as torchvision calls mobilenetv3_large_100
    {.architecture = "mobilenet_v3_small", .large = kSmall},
};

Variant timm(const char* architecture, const char* tag, fbs::Filter filter = fbs::Filter::Bicubic) {
  const std::string hub = *tag ? std::string("timm/") + architecture + "." + tag : "";
  return {.architecture = architecture, .tag = tag, .framework = "timm", .hub = hub, .picture = {.filter = filter}};
}

// Google's weights: pictures on -1..1.
Variant tensorflow(const char* architecture) {
  Variant variant = timm(architecture, "in1k", fbs::Filter::Bilinear);
  variant.picture.mean = variant.picture.std = {0.5f, 0.5f, 0.5f};
  return variant;
}

// Alibaba's: pictures on 0..1.
Variant miil(const char* tag, int classes) {
  Variant variant = timm("mobilenetv3_large_100", tag, fbs::Filter::Bilinear);
  variant.num_classes = classes;
  variant.imagenet_labels = classes == 1000;
  variant.picture.mean = {0, 0, 0};
  variant.picture.std = {1, 1, 1};
  return variant;
}

// `crop_pct`: the shorter edge becomes 232 ("v2") or 256 ("v1").
Variant torchvision(const char* architecture, const char* tag, double crop_pct) {
  return {.architecture = architecture,
          .tag = tag,
          .framework = "torchvision",
          .hub = std::string("torchvision/") + architecture + "." + tag,
          .picture = {.filter = fbs::Filter::Bilinear, .crop_pct = crop_pct}};
}

// Settings as in timm's pretrained configurations and torchvision's weight transforms.
std::vector<Variant> make_variants() {
  std::vector<Variant> all = {
      timm("mobilenetv3_large_075", "", fbs::Filter::Bilinear),
      timm("mobilenetv3_large_100", "ra_in1k"),
      timm("mobilenetv3_large_100", "ra4_e3600_r224_in1k"),
      miil("miil_in21k_ft_in1k", 1000),
      miil("miil_in21k", 11221),
      timm("mobilenetv3_small_050", "lamb_in1k"),
      timm("mobilenetv3_small_075", "lamb_in1k"),
      timm("mobilenetv3_small_100", "lamb_in1k"),
      tensorflow("tf_mobilenetv3_large_075"),
      tensorflow("tf_mobilenetv3_large_100"),
      tensorflow("tf_mobilenetv3_large_minimal_100"),
      tensorflow("tf_mobilenetv3_small_075"),
      tensorflow("tf_mobilenetv3_small_100"),
      tensorflow("tf_mobilenetv3_small_minimal_100"),
      torchvision("mobilenet_v3_large", "v2", 0.965),
      torchvision("mobilenet_v3_large", "v1", 0.875),
      torchvision("mobilenet_v3_small", "v1", 0.875),
  };
  PictureRecipe& ra4 = all[2].picture;
  ra4.mean = ra4.std = {0.5f, 0.5f, 0.5f};
  ra4.crop_pct = 0.95;
  return all;
}

}  // namespace

const Config& config_of(const std::string& architecture) {
  const std::string name = architecture.starts_with("tf_") ? architecture.substr(3) : architecture;
  for (const Config& config : kConfigs)
    if (name == config.architecture) return config;
  fail("no MobileNetV3 is called '%s'", architecture.c_str());
}

std::span<const Variant> variants() {
  static const std::vector<Variant> all = make_variants();
  return all;
}

}  // namespace ferry::mobilenetv3
