#include <nlohmann/json.hpp>

#include "converter/error.h"
#include "models/vision/mobilenetv2/mobilenetv2.h"
#include "models/vision/published.h"
#include "models/vision/transformers_config.h"

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
    {.architecture = "mobilenet_v2"},  // torchvision's name of mobilenetv2_100
    {.architecture = "mobilenet_v2_0.35", .width = 0.35, .same_padding = true, .integers = true},
    {.architecture = "mobilenet_v2_0.75", .width = 0.75, .same_padding = true, .integers = true},
    {.architecture = "mobilenet_v2_1.0", .same_padding = true, .integers = true},
    {.architecture = "mobilenet_v2_1.4", .width = 1.4, .same_padding = true, .integers = true},
};

// "google/mobilenet_v2_1.0_224": TensorFlow's weights, with a background class, and the settings of its
// preprocessor_config.json.
ImageVariant google(const std::string& width, int size) {
  const std::string architecture = "mobilenet_v2_" + width;
  ImageVariant variant = transformers(architecture, "", "google/" + architecture + "_" + std::to_string(size),
                                      {.num_classes = 1001,
                                       .size = size,
                                       .crop_pct = size / (size + 32.0),
                                       .filter = fbs::Filter::Bilinear,
                                       .pixels = Pixels::Inception});
  variant.layer_norm_eps = 1e-3;
  return variant;
}

// Settings of timm's pretrained configurations and torchvision's weight transforms.
std::vector<ImageVariant> make_variants() {
  std::vector<ImageVariant> all = {
      timm("mobilenetv2_035", ""),
      timm("mobilenetv2_050", "lamb_in1k"),
      timm("mobilenetv2_075", ""),
      timm("mobilenetv2_100", "ra_in1k"),
      timm("mobilenetv2_110d", "ra_in1k"),
      timm("mobilenetv2_120d", "ra_in1k"),
      timm("mobilenetv2_140", "ra_in1k"),
      torchvision("mobilenet_v2", "v2", {.crop_pct = 0.965, .digest = "7ebf99e0"}),
      torchvision("mobilenet_v2", "v1", {.digest = "b0353104"}),
      google("1.0", 224),
      google("1.4", 224),
      google("0.75", 160),
      google("0.35", 96),
  };
  // TensorFlow's weights under torchvision's names; images are normalized to -1..1.
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

std::span<const ImageVariant> variants() {
  static const std::vector<ImageVariant> all = make_variants();
  return all;
}

Config from_transformers(const nlohmann::json& json) {
  const ConfigReader read(json);
  read.require("first_layer_is_expansion", true);
  // A smaller output stride needs dilated convolutions.
  if (read.integer("output_stride", 32) < 32) read.refuse("output_stride", "32");
  return {.architecture = "",
          .width = read.number("depth_multiplier", 1.0),
          .same_padding = read.flag("tf_padding", true),
          .expansion = read.number("expand_ratio", 6.0),
          .act = read.activation("hidden_act", "relu6"),
          .integers = true,
          .divisor = read.integer("depth_divisible_by", 8),
          .minimum = read.integer("min_depth", 8),
          .fine_head = read.flag("finegrained_output", true)};
}

Described described_by(const nlohmann::json& config) {
  if (ConfigReader(config).text("model_type", "") != "mobilenet_v2") return {};
  return described_among<Config>(variants(), config, from_transformers(config), config_of,
                                 [](const Config&, const Config&) { return true; });
}

}  // namespace ferry::mobilenetv2
