#include "converter/error.h"
#include "models/vision/published.h"
#include "models/vision/repvit/repvit.h"

namespace ferry::repvit {
namespace {

constexpr Config kConfigs[] = {
    {"repvit_m0_9", 48, {2, 2, 14, 2}},     {"repvit_m1_0", 56, {2, 2, 14, 2}},
    {"repvit_m1_1", 64, {2, 2, 12, 2}},     {"repvit_m1_5", 64, {4, 4, 24, 4}},
    {"repvit_m2_3", 80, {6, 6, 34, 2}},     {"repvit_m1", 48, {2, 2, 14, 2}, true},
    {"repvit_m2", 64, {2, 2, 12, 2}, true}, {"repvit_m3", 64, {4, 4, 18, 2}, true},
};

// Settings of timm's pretrained configurations.
std::vector<ImageVariant> make_variants() {
  const Training training = {.crop_pct = 0.95};
  std::vector<ImageVariant> all;
  for (const Config& config : kConfigs) {
    if (config.legacy) {
      all.push_back(timm(config.architecture, "dist_in1k", training));
      continue;
    }
    all.push_back(timm(config.architecture, "dist_300e_in1k", training));
    all.push_back(timm(config.architecture, "dist_450e_in1k", training));
  }
  return all;
}

}  // namespace

const Config& config_of(const std::string& architecture) {
  for (const Config& config : kConfigs)
    if (architecture == config.architecture) return config;
  fail("no RepViT is called '%s'", architecture.c_str());
}

std::span<const ImageVariant> variants() {
  static const std::vector<ImageVariant> all = make_variants();
  return all;
}

std::span<const Naming> namings() {
  static const Naming table[] = {
      {.framework = "timm", .probes = {"stem.conv1.c.weight", "stages.0.blocks.0.token_mixer.conv.c.weight"}}};
  return table;
}

}  // namespace ferry::repvit
