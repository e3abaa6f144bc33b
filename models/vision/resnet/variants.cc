#include <nlohmann/json.hpp>

#include "converter/error.h"
#include "models/vision/published.h"
#include "models/vision/resnet/resnet.h"
#include "models/vision/transformers_config.h"

namespace ferry::resnet {
namespace {

const Config kConfigs[] = {
    {.architecture = "resnet18", .bottleneck = false, .layers = {2, 2, 2, 2}},
    {.architecture = "resnet18d", .bottleneck = false, .layers = {2, 2, 2, 2}, .deep = true},
    {.architecture = "resnet26", .bottleneck = true, .layers = {2, 2, 2, 2}},
    {.architecture = "resnet26d", .bottleneck = true, .layers = {2, 2, 2, 2}, .deep = true},
    {.architecture = "resnet34", .bottleneck = false, .layers = {3, 4, 6, 3}},
    {.architecture = "resnet34d", .bottleneck = false, .layers = {3, 4, 6, 3}, .deep = true},
    {.architecture = "resnet50", .bottleneck = true, .layers = {3, 4, 6, 3}},
    {.architecture = "resnet50d", .bottleneck = true, .layers = {3, 4, 6, 3}, .deep = true},
    {.architecture = "resnet101", .bottleneck = true, .layers = {3, 4, 23, 3}},
    {.architecture = "resnet101d", .bottleneck = true, .layers = {3, 4, 23, 3}, .deep = true},
    {.architecture = "resnet152", .bottleneck = true, .layers = {3, 8, 36, 3}},
    {.architecture = "resnet152d", .bottleneck = true, .layers = {3, 8, 36, 3}, .deep = true},
    {.architecture = "seresnet18", .bottleneck = false, .layers = {2, 2, 2, 2}, .se = true},
    {.architecture = "seresnet34", .bottleneck = false, .layers = {3, 4, 6, 3}, .se = true},
    {.architecture = "seresnet50", .bottleneck = true, .layers = {3, 4, 6, 3}, .se = true},
    {.architecture = "seresnet101", .bottleneck = true, .layers = {3, 4, 23, 3}, .se = true},
    {.architecture = "seresnet152", .bottleneck = true, .layers = {3, 8, 36, 3}, .se = true},
    {.architecture = "seresnet152d", .bottleneck = true, .layers = {3, 8, 36, 3}, .deep = true, .se = true},
};

ImageVariant microsoft(const char* architecture, const char* hub) { return transformers(architecture, "", hub); }

// Settings of timm's pretrained configurations, torchvision's weight transforms, and the preprocessor_config.json of
// the microsoft/resnet-* repositories.
std::vector<ImageVariant> make_variants() {
  std::vector<ImageVariant> all = {
      timm("resnet18", "a1_in1k", {.crop_pct = 0.95}),
      timm("resnet18d", "ra2_in1k"),
      timm("resnet26", "bt_in1k"),
      timm("resnet26d", "bt_in1k"),
      timm("resnet34", "a1_in1k", {.crop_pct = 0.95}),
      timm("resnet34d", "ra2_in1k"),
      timm("resnet50", "a1_in1k", {.crop_pct = 0.95}),
      timm("resnet50d", "ra2_in1k"),
      timm("resnet101", "a1h_in1k", {.crop_pct = 0.95}),
      timm("resnet101d", "ra2_in1k", {.size = 256, .crop_pct = 0.95}),
      timm("resnet152", "a1h_in1k", {.crop_pct = 0.95}),
      timm("resnet152d", "ra2_in1k", {.size = 256, .crop_pct = 0.95}),
      timm("seresnet18", ""),
      timm("seresnet34", ""),
      timm("seresnet50", "ra2_in1k"),
      timm("seresnet101", ""),
      timm("seresnet152", ""),
      timm("seresnet152d", "ra2_in1k", {.size = 256, .crop_pct = 0.95}),
      // further trainings of the same architectures
      timm("resnet18", "a2_in1k", {.crop_pct = 0.95}),
      timm("resnet18", "a3_in1k", {.size = 160, .crop_pct = 0.95}),
      timm("resnet34", "a2_in1k", {.crop_pct = 0.95}),
      timm("resnet34", "a3_in1k", {.size = 160, .crop_pct = 0.95}),
      timm("resnet34", "bt_in1k"),
      timm("resnet50", "a1h_in1k", {.size = 176, .crop_pct = 0.9}),
      timm("resnet50", "a2_in1k", {.crop_pct = 0.95}),
      timm("resnet50", "a3_in1k", {.size = 160, .crop_pct = 0.95}),
      timm("resnet50", "b1k_in1k", {.crop_pct = 0.95}),
      timm("resnet50", "b2k_in1k", {.crop_pct = 0.95}),
      timm("resnet50", "c1_in1k", {.crop_pct = 0.95}),
      timm("resnet50", "c2_in1k", {.crop_pct = 0.95}),
      timm("resnet50", "d_in1k", {.crop_pct = 0.95}),
      timm("resnet50", "ram_in1k"),
      timm("resnet50", "am_in1k"),
      timm("resnet50", "ra_in1k"),
      timm("resnet50", "bt_in1k"),
      timm("resnet50d", "a1_in1k", {.crop_pct = 0.95}),
      timm("resnet50d", "a2_in1k", {.crop_pct = 0.95}),
      timm("resnet50d", "a3_in1k", {.size = 160, .crop_pct = 0.95}),
      timm("resnet101", "a1_in1k", {.crop_pct = 0.95}),
      timm("resnet101", "a2_in1k", {.crop_pct = 0.95}),
      timm("resnet101", "a3_in1k", {.size = 160, .crop_pct = 0.95}),
      timm("resnet152", "a1_in1k", {.crop_pct = 0.95}),
      timm("resnet152", "a2_in1k", {.crop_pct = 0.95}),
      timm("resnet152", "a3_in1k", {.size = 160, .crop_pct = 0.95}),
      timm("seresnet50", "a1_in1k", {.crop_pct = 0.95}),
      timm("seresnet50", "a2_in1k", {.crop_pct = 0.95}),
      timm("seresnet50", "a3_in1k", {.size = 160, .crop_pct = 0.95}),
      torchvision("resnet18", "v1"),
      torchvision("resnet34", "v1"),
      torchvision("resnet50", "v2", {.crop_pct = 0.965, .digest = "11ad3fa6"}),
      torchvision("resnet50", "v1", {.digest = "0676ba61"}),
      torchvision("resnet101", "v2", {.crop_pct = 0.965, .digest = "cd907fc2"}),
      torchvision("resnet101", "v1", {.digest = "63fe2227"}),
      torchvision("resnet152", "v2", {.crop_pct = 0.965, .digest = "f82ba261"}),
      torchvision("resnet152", "v1", {.digest = "394f9c45"}),
      microsoft("resnet18", "microsoft/resnet-18"),
      microsoft("resnet26", "microsoft/resnet-26"),
      microsoft("resnet34", "microsoft/resnet-34"),
      microsoft("resnet50", "microsoft/resnet-50"),
      microsoft("resnet101", "microsoft/resnet-101"),
      microsoft("resnet152", "microsoft/resnet-152"),
  };
  for (const char* architecture : {"resnet18", "resnet34", "resnet50", "resnet101", "resnet152"}) {
    all.push_back(timm(architecture, "tv_in1k", {.filter = fbs::Filter::Bilinear}));
    all.push_back(timm(architecture, "gluon_in1k"));
  }
  return all;
}

}  // namespace

const Config& config_of(const std::string& architecture) {
  for (const Config& config : kConfigs)
    if (architecture == config.architecture) return config;
  fail("no ResNet is called '%s'", architecture.c_str());
}

std::span<const ImageVariant> variants() {
  static const std::vector<ImageVariant> all = make_variants();
  return all;
}

Config from_transformers(const nlohmann::json& json) {
  const ConfigReader read(json);
  const std::string type = read.text("layer_type", "bottleneck");
  if (type != "bottleneck" && type != "basic") read.refuse("layer_type", "bottleneck or basic");
  Config config{.architecture = "",
                .bottleneck = type == "bottleneck",
                .layers = read.integers("depths", {3, 4, 6, 3}),
                .stem = read.integer("embedding_size", 64),
                .widths = read.integers("hidden_sizes", {256, 512, 1024, 2048}),
                .act = read.activation("hidden_act", "relu"),
                .stride_first = read.flag("downsample_in_first_stage", false)};
  if (config.bottleneck) config.stride_early = read.flag("downsample_in_bottleneck", false);
  if (config.layers.size() != config.widths.size())
    read.refuse("depths", std::to_string(config.widths.size()) + " numbers, one per element of hidden_sizes");
  // Widths equal to the defaults become empty, as in the published configurations.
  std::vector<int> usual;
  for (size_t stage = 0; stage < config.widths.size() && stage < 16; ++stage)
    usual.push_back((config.bottleneck ? 256 : 64) << stage);
  if (config.widths == usual) config.widths.clear();
  return config;
}

Described described_by(const nlohmann::json& config) {
  if (ConfigReader(config).text("model_type", "") != "resnet") return {};
  return described_among<Config>(variants(), config, from_transformers(config), config_of,
                                 [](const Config&, const Config&) { return true; });
}

}  // namespace ferry::resnet
