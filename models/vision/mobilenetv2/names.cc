#include "models/vision/mobilenetv2/mobilenetv2.h"

namespace ferry::mobilenetv2 {
namespace {

// timm's module names are canonical. The reference runs the pool for `features` and for `logits`: two records.
Naming timm() {
  return {.framework = "timm",
          .probes = {"conv_stem.weight", "blocks.0.0.conv_dw.weight", "blocks.6.0.conv_pwl.weight"},
          .taps = {{"global_pool", {"global_pool", "global_pool#1"}}}};
}

// torchvision numbers the blocks of all stages consecutively; a convolution, its normalization and activation are one
// Sequential.
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
  constexpr int kFirst[] = {1, 2, 4, 7, 11, 14, 17};  // first block of each stage
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

// transformers' MobileNetV2Model; `root` is its prefix inside a classifier ("mobilenet_v2."). All blocks but the first
// are numbered consecutively; a convolution, its normalization and activation are one module.
Naming transformers(const std::string& root) {
  Naming naming{
      .framework = "transformers",
      .probes = {root + "conv_stem.first_conv.convolution.weight", root + "layer.15.conv_3x3.convolution.weight"},
      .input = "pixel_values"};
  // Adds a layer of convolution `conv`, normalization `norm` and, if `act`, an activation.
  const auto layer = [&](const std::string& conv, const std::string& norm, const std::string& source, bool act) {
    const std::string whole = root + source, normalization = whole + ".normalization";
    naming.keys.push_back({conv, {whole + ".convolution"}});
    naming.keys.push_back({norm, {normalization}});
    naming.taps.push_back({norm, {whole, act ? whole + ".activation" : normalization}});
    if (act) naming.taps.push_back({norm + ".act", {}});
  };
  layer("conv_stem", "bn1", "conv_stem.first_conv", true);
  layer("blocks.0.0.conv_dw", "blocks.0.0.bn1", "conv_stem.conv_3x3", true);
  layer("blocks.0.0.conv_pw", "blocks.0.0.bn2", "conv_stem.reduce_1x1", false);
  layer("conv_head", "bn2", "conv_1x1", true);
  constexpr int kFirst[] = {0, 0, 2, 5, 9, 12, 15};  // first block of each stage
  for (int s = 1; s < 7; ++s) {
    const std::string canonical = "blocks." + std::to_string(s) + ".{b}";
    const std::string block = "layer.{b+" + std::to_string(kFirst[s]) + "}";
    layer(canonical + ".conv_pw", canonical + ".bn1", block + ".expand_1x1", true);
    layer(canonical + ".conv_dw", canonical + ".bn2", block + ".conv_3x3", true);
    layer(canonical + ".conv_pwl", canonical + ".bn3", block + ".reduce_1x1", false);
    naming.taps.push_back({canonical, {root + block}});
  }
  naming.taps.insert(naming.taps.end(), {{"blocks.0.0", {root + "conv_stem"}},
                                         {"blocks.{s}", {}},
                                         {"global_pool.pool", {root + "pooler"}},
                                         {"global_pool", {"pooler_output"}}});
  return naming;
}

}  // namespace

std::span<const Naming> namings() {
  static const Naming table[] = {timm(), torchvision(), transformers(""), transformers("mobilenet_v2.")};
  return table;
}

}  // namespace ferry::mobilenetv2
