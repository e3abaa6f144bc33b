#include "converter/error.h"
#include "models/vision/published.h"
#include "models/vision/resnetv2/resnetv2.h"

namespace ferry::resnetv2 {
namespace {

constexpr Config kConfigs[] = {
    {"resnetv2_50x1_bit", {3, 4, 6, 3}, 1},   {"resnetv2_50x3_bit", {3, 4, 6, 3}, 3},
    {"resnetv2_101x1_bit", {3, 4, 23, 3}, 1}, {"resnetv2_101x3_bit", {3, 4, 23, 3}, 3},
    {"resnetv2_152x2_bit", {3, 8, 36, 3}, 2}, {"resnetv2_152x4_bit", {3, 8, 36, 3}, 4},
};

// Images are normalized to -1..1.
ImageVariant timm(const std::string& architecture, const std::string& tag, int size, fbs::Filter filter,
                  double crop_pct) {
  return ferry::timm(architecture, tag,
                     {.size = size, .crop_pct = crop_pct, .filter = filter, .pixels = Pixels::Inception});
}

// Settings of timm's pretrained configurations.
std::vector<ImageVariant> make_variants() {
  using enum fbs::Filter;
  std::vector<ImageVariant> all = {
      timm("resnetv2_50x1_bit", "goog_distilled_in1k", 224, Bicubic, 0.875),
      timm("resnetv2_152x2_bit", "goog_teacher_in21k_ft_in1k", 224, Bicubic, 0.875),
      timm("resnetv2_152x2_bit", "goog_teacher_in21k_ft_in1k_384", 384, Bicubic, 1.0),
  };
  for (const Config& config : kConfigs) {
    const std::string architecture = config.architecture;
    const int size = architecture == "resnetv2_152x4_bit" ? 480 : 448;
    all.push_back(timm(architecture, "goog_in21k_ft_in1k", size, Bilinear, 1.0));
    all.push_back(timm(architecture, "goog_in21k", 224, Bilinear, 0.875));
  }
  return all;
}

// The reference runs the pool for `features` and for `logits`: two records. Dropout is an identity.
Naming timm_names() {
  return {
      .framework = "timm",
      .probes = {"stem.conv.weight", "stages.0.blocks.0.norm3.weight", "stages.3.blocks.2.conv3.weight", "norm.weight"},
      .taps = {{"head.global_pool", {"head.global_pool", "head.global_pool#1", "head.drop", "head.drop#1"}},
               {"head.flatten", {"head.flatten", "head"}},
               {"head", {"head.flatten#1", "head#1"}}}};
}

}  // namespace

const Config& config_of(const std::string& architecture) {
  for (const Config& config : kConfigs)
    if (architecture == config.architecture) return config;
  fail("no BiT ResNetV2 is called '%s'", architecture.c_str());
}

std::span<const ImageVariant> variants() {
  static const std::vector<ImageVariant> all = make_variants();
  return all;
}

std::span<const Naming> namings() {
  static const Naming table[] = {timm_names()};
  return table;
}

}  // namespace ferry::resnetv2
