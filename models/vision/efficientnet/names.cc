#include "models/vision/efficientnet/efficientnet.h"

namespace ferry::efficientnet {
namespace {

// timm's module names are canonical. The reference runs the pool for `features` and for `logits`: two records.
Naming timm() {
  return {.framework = "timm",
          .probes = {"conv_stem.weight", "blocks.0.0.conv_dw.weight", "blocks.6.0.conv_pwl.weight", "conv_head.weight"},
          .taps = {{"global_pool", {"global_pool", "global_pool#1"}}}};
}

// torchvision counts the stages from 1; a convolution, its normalization and activation are one Sequential.
Naming torchvision() {
  Naming naming{.framework = "torchvision",
                .probes = {"features.0.0.weight", "features.1.0.block.1.fc1.weight", "features.8.0.weight"}};
  naming.keys = {{"conv_stem", {"features.0.0"}},
                 {"bn1", {"features.0.1"}},
                 {"conv_head", {"features.8.0"}},
                 {"bn2", {"features.8.1"}},
                 {"classifier", {"classifier.1"}}};
  naming.taps = {{"bn1", {"features.0", "features.0.2"}},
                 {"bn1.act", {}},
                 {"bn2", {"features", "features.8", "features.8.2"}},
                 {"bn2.act", {}},
                 {"blocks.{s}.{b}.bn{i}.act", {}},
                 {"global_pool", {}},
                 {"global_pool.pool", {"avgpool"}},
                 {"classifier", {"classifier", "classifier.1"}}};
  // Blocks of the first stage have no expansion and begin with the depthwise convolution.
  const auto step = [&naming](const std::string& stage, int first, const char* conv, const char* bn, bool act) {
    const std::string from = "blocks." + stage + ".{b}.";
    const std::string to = "features." + std::to_string(std::stoi(stage) + 1) + ".{b}.block." + std::to_string(first);
    naming.keys.push_back({from + conv, {to + ".0"}});
    naming.keys.push_back({from + bn, {to + ".1"}});
    if (act)
      naming.taps.push_back({from + bn, {to, to + ".2"}});
    else
      naming.taps.push_back({from + bn, {to, to + ".1"}});
  };
  for (int s = 0; s < 7; ++s) {
    const std::string stage = std::to_string(s), last = std::to_string(s + 1);
    int at = 0;
    if (s > 0) step(stage, at++, "conv_pw", "bn1", true);
    step(stage, at++, "conv_dw", s > 0 ? "bn2" : "bn1", true);
    const std::string se = "features." + last + ".{b}.block." + std::to_string(at++);
    naming.keys.push_back({"blocks." + stage + ".{b}.se", {se}});
    naming.keys.push_back({"blocks." + stage + ".{b}.se.conv_reduce", {se + ".fc1"}});
    naming.keys.push_back({"blocks." + stage + ".{b}.se.conv_expand", {se + ".fc2"}});
    naming.taps.push_back({"blocks." + stage + ".{b}.se.act1", {se + ".activation"}});
    naming.taps.push_back({"blocks." + stage + ".{b}.se.gate", {se + ".scale_activation"}});
    step(stage, at, s > 0 ? "conv_pwl" : "conv_pw", s > 0 ? "bn3" : "bn2", false);
    naming.taps.push_back({"blocks." + stage + ".{b}", {"features." + last + ".{b}"}});
    naming.taps.push_back({"blocks." + stage, {"features." + last}});
  }
  return naming;
}

}  // namespace

std::span<const Naming> namings() {
  static const Naming table[] = {timm(), torchvision()};
  return table;
}

}  // namespace ferry::efficientnet
