#include "models/blocks/mobilenetv3_trunk.h"
#include "models/vision/mobilenetv3/mobilenetv3.h"

namespace ferry::mobilenetv3 {
namespace {

// timm's module names are canonical. The reference runs the head for `pooled` and for `logits`: two records.
Naming timm() {
  return {.framework = "timm",
          .probes = {"conv_stem.weight", "blocks.0.0.conv_dw.weight", "blocks.1.1.conv_pwl.weight", "conv_head.bias"},
          .taps = {{"global_pool", {"global_pool", "global_pool#1"}},
                   {"conv_head", {"conv_head", "conv_head#1"}},
                   {"norm_head", {"norm_head", "norm_head#1"}}}};
}

// The first layer of torchvision's classifier is timm's conv_head, as a linear layer.
Naming torchvision(const MobileStages& stages) {
  Naming naming{.framework = "torchvision"};
  const std::string last = "features." + std::to_string(add_torchvision_names(&naming, stages, "", "features."));
  naming.probes = {"features.1.block.0.0.weight", last + ".0.weight", "classifier.3.weight"};
  naming.keys.push_back({"conv_head", {"classifier.0"}});
  naming.keys.push_back({"classifier", {"classifier.3"}});
  naming.taps.push_back({"blocks." + std::to_string(stages.size() - 1) + ".0", {"features"}});
  naming.taps.push_back({"classifier", {"classifier", "classifier.3"}});
  naming.taps.push_back({"global_pool", {"avgpool"}});
  naming.taps.push_back({"norm_head", {}});
  return naming;
}

}  // namespace

std::span<const Naming> namings() {
  static const Naming table[] = {timm(), torchvision(mobilenetv3_large()), torchvision(mobilenetv3_small())};
  return table;
}

}  // namespace ferry::mobilenetv3
