#include "converter/error.h"
#include "models/mobilenetv2/mobilenetv2.h"
#include "models/published.h"

namespace ferry::mobilenetv2 {
namespace {

constexpr Config kConfigs[] = {
    {.architecture = "mobilenetv2_035", .width = 0.35},
    {.architecture = "mobilenetv2_050", .width = 0.5},
    {.architecture = "mobilenetv2_075", .width = 0.75},
    {.architecture = "mobilenetv2_100"},
    {.architecture = "mobilenetv2_110d", .width = 1.1, .depth = 1.2, .fixed_ends = true},
    {.architecture = "mobilenetv2_120d", .width = 1.2, .depth = 1.4, .fixed_ends = true},
    {.architecture = "mobilenetv2_140", .width = 1.4},
    {.architecture = "mobilenet_v2"},  // as torchvision calls mobilenetv2_100
};

// Settings as in timm's pretrained configurations and torchvision's weight transforms.
std::vector<Variant> make_variants() {
  std::vector<Variant> all = {
      timm("mobilenetv2_035", ""),         timm("mobilenetv2_050", "lamb_in1k"),
      timm("mobilenetv2_075", ""),         timm("mobilenetv2_100", "ra_in1k"),
      timm("mobilenetv2_110d", "ra_in1k"), timm("mobilenetv2_120d", "ra_in1k"),
      timm("mobilenetv2_140", "ra_in1k"),  torchvision("mobilenet_v2", "v2", {.crop_pct = 0.965}),
      torchvision("mobilenet_v2", "v1"),
  };
  // TensorFlow's published weights under torchvision's names: pictures on -1..1.
  all.push_back(torchvision("mobilenet_v2", "tf", {.crop_pct = 1, .pixels = Pixels::Inception}));
  all.back().hub.clear();
  return all;
}

}  // namespace

const Config& config_of(const std::string& architecture) {
  for (const Config& config : kConfigs)
    if (architecture == config.architecture) return config;
  fail("no MobileNetV2 is called '%s'", architecture.c_str());
}

std::span<const Variant> variants() {
  static const std::vector<Variant> all = make_variants();
  return all;
}

}  // namespace ferry::mobilenetv2
