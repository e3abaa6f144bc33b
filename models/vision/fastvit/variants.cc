#include "converter/error.h"
#include "models/vision/fastvit/fastvit.h"
#include "models/vision/published.h"

namespace ferry::fastvit {
namespace {

constexpr Config kConfigs[] = {
    {"fastvit_t8", 48, {2, 2, 4, 2}, 3},          {"fastvit_t12", 64, {2, 2, 6, 2}, 3},
    {"fastvit_s12", 64, {2, 2, 6, 2}, 4},         {"fastvit_sa12", 64, {2, 2, 6, 2}, 4, true},
    {"fastvit_sa24", 64, {4, 4, 12, 4}, 4, true}, {"fastvit_sa36", 64, {6, 6, 18, 6}, 4, true},
    {"fastvit_ma36", 76, {6, 6, 18, 6}, 4, true},
};

// Settings of timm's pretrained configurations.
std::vector<ImageVariant> make_variants() {
  std::vector<ImageVariant> all;
  for (const Config& config : kConfigs) {
    const std::string architecture = config.architecture;
    for (const std::string tag : {"apple_in1k", "apple_dist_in1k"})
      all.push_back(timm(architecture, tag, {.size = 256, .crop_pct = architecture == "fastvit_ma36" ? 0.95 : 0.9}));
  }
  return all;
}

// The reference runs the pool for `features` and for `logits`: two records. Dropout and flatten are identities.
Naming timm_names() {
  return {.framework = "timm",
          .probes = {"stem.0.conv_kxk.0.conv.weight", "stages.0.blocks.0.token_mixer.mixer.conv_scale.conv.weight"},
          .taps = {{"head.global_pool",
                    {"head.global_pool", "head.global_pool#1", "head.drop", "head.drop#1", "head.flatten", "head"}},
                   {"head.fc", {"head.fc", "head.flatten#1", "head#1"}}}};
}

}  // namespace

const Config& config_of(const std::string& architecture) {
  for (const Config& config : kConfigs)
    if (architecture == config.architecture) return config;
  fail("no FastViT is called '%s'", architecture.c_str());
}

std::span<const ImageVariant> variants() {
  static const std::vector<ImageVariant> all = make_variants();
  return all;
}

std::span<const Naming> namings() {
  static const Naming table[] = {timm_names()};
  return table;
}

}  // namespace ferry::fastvit
