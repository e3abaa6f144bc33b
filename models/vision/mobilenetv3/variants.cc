#include "converter/error.h"
#include "models/vision/mobilenetv3/mobilenetv3.h"
#include "models/vision/published.h"

namespace ferry::mobilenetv3 {
namespace {

using enum fbs::Filter;
using enum Pixels;

constexpr bool kLarge = true, kSmall = false;
constexpr Config kConfigs[] = {
    {.architecture = "mobilenetv3_large_075", .large = kLarge, .width = 0.75},
    {.architecture = "mobilenetv3_large_100", .large = kLarge},
    {.architecture = "mobilenetv3_large_minimal_100", .large = kLarge, .minimal = true},
    {.architecture = "mobilenetv3_small_050", .large = kSmall, .width = 0.5},
    {.architecture = "mobilenetv3_small_075", .large = kSmall, .width = 0.75},
    {.architecture = "mobilenetv3_small_100", .large = kSmall},
    {.architecture = "mobilenetv3_small_minimal_100", .large = kSmall, .minimal = true},
    {.architecture = "mobilenet_v3_large", .large = kLarge},  // torchvision's name of mobilenetv3_large_100
    {.architecture = "mobilenet_v3_small", .large = kSmall},
};

ImageVariant google(const char* architecture) {
  return timm(architecture, "in1k", {.filter = Bilinear, .pixels = Inception});
}

}  // namespace

const Config& config_of(const std::string& architecture) {
  const std::string name = architecture.starts_with("tf_") ? architecture.substr(3) : architecture;
  for (const Config& config : kConfigs)
    if (name == config.architecture) return config;
  fail("no MobileNetV3 is called '%s'", architecture.c_str());
}

// Settings of timm's pretrained configurations and torchvision's weight transforms.
std::span<const ImageVariant> variants() {
  static const std::vector<ImageVariant> all = {
      timm("mobilenetv3_large_075", "", {.filter = Bilinear}),
      timm("mobilenetv3_large_100", "ra_in1k"),
      timm("mobilenetv3_large_100", "ra4_e3600_r224_in1k", {.crop_pct = 0.95, .pixels = Inception}),
      timm("mobilenetv3_large_100", "miil_in21k_ft_in1k", {.filter = Bilinear, .pixels = Unit}),
      timm("mobilenetv3_large_100", "miil_in21k", {.num_classes = 11221, .filter = Bilinear, .pixels = Unit}),
      timm("mobilenetv3_small_050", "lamb_in1k"),
      timm("mobilenetv3_small_075", "lamb_in1k"),
      timm("mobilenetv3_small_100", "lamb_in1k"),
      google("tf_mobilenetv3_large_075"),
      google("tf_mobilenetv3_large_100"),
      google("tf_mobilenetv3_large_minimal_100"),
      google("tf_mobilenetv3_small_075"),
      google("tf_mobilenetv3_small_100"),
      google("tf_mobilenetv3_small_minimal_100"),
      torchvision("mobilenet_v3_large", "v2", {.crop_pct = 0.965, .digest = "5c1a4163"}),
      torchvision("mobilenet_v3_large", "v1", {.digest = "8738ca79"}),
      torchvision("mobilenet_v3_small", "v1"),
  };
  return all;
}

}  // namespace ferry::mobilenetv3
