#include "models/mobilenetv2/mobilenetv2.h"

namespace ferry::mobilenetv2 {
namespace {

// timm's names are the canonical ones. Its head runs the pool for `features` and again for `logits`: two records.
Naming timm() {
  return {.framework = "timm",
          .probes = {"conv_stem.weight", "blocks.0.0.conv_dw.weight", "blocks.6.0.conv_pwl.weight"},
          .taps = {{"global_pool", {"global_pool", "global_pool#1"}}}};
}

// torchvision numbers all blocks through, and a convolution, its normalization and activation are one Sequential.
Naming torchvision() {
  Naming naming{.framework = "torchvision",
                .probes = {"features.0.0.weight", "features.1.conv.0.0.weight", "features.18.0.weight"}};
  naming.keys = {{"conv_stem", {"features.0.0"}},
                 {"bn1", {"features.0.1"}},
                 {"blocks.0.0.conv_dw", {"features.1.conv.0.0"}},
                 {"blocks.0.0.bn1", {"features.1.conv.0.1"}},
                 {"blocks.0.0.conv_pw", {"features.1.conv.1"}},
                 {"blocks.0.0.bn2", {"features.1.conv.2"}},
                 {"conv_head", {"features.18.0"}},
                 {"bn2", {"features.18.1"}},
                 {"classifier", {"classifier.1"}}};
  naming.taps = {{"bn1", {"features.0", "features.0.2"}},
                 {"bn1.act", {}},
                 {"blocks.{s}", {}},
                 {"blocks.{s}.{b}.bn{i}.act", {}},
                 {"blocks.0.0", {"features.1"}},
                 {"blocks.0.0.bn1", {"features.1.conv.0", "features.1.conv.0.2"}},
                 {"bn2", {"features", "features.18", "features.18.2"}},
                 {"bn2.act", {}},
                 {"global_pool", {}},
                 {"global_pool.pool", {}},
                 {"classifier", {"classifier", "classifier.1"}}};
  constexpr int kFirst[] = {1, 2, 4, 7, 11, 14, 17};  // where each stage begins
  for (int s = 1; s < 7; ++s) {
    const std::string canonical = "blocks." + std::to_string(s) + ".{b}";
    const std::string block = "features.{b+" + std::to_string(kFirst[s]) + "}";
    naming.keys.insert(naming.keys.end(), {{canonical + ".conv_pw", {block + ".conv.0.0"}},
                                           {canonical + ".bn1", {block + ".conv.0.1"}},
                                           {canonical + ".conv_dw", {block + ".conv.1.0"}},
                                           {canonical + ".bn2", {block + ".conv.1.1"}},
                                           {canonical + ".conv_pwl", {block + ".conv.2"}},
                                           {canonical + ".bn3", {block + ".conv.3"}}});
    naming.taps.insert(naming.taps.end(), {{canonical, {block}},
                                           {canonical + ".bn1", {block + ".conv.0", block + ".conv.0.2"}},
                                           {canonical + ".bn2", {block + ".conv.1", block + ".conv.1.2"}},
                                           {canonical + ".bn3", {block + ".conv.3", block + ".conv"}}});
  }
  return naming;
}

}  // namespace

std::span<const Naming> namings() {
  static const Naming table[] = {timm(), torchvision()};
  return table;
}

}  // namespace ferry::mobilenetv2
