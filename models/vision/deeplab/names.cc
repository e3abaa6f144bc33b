#include "models/blocks/mobilenetv3_trunk.h"
#include "models/vision/deeplab/deeplab.h"

namespace ferry {
namespace {

using Keys = std::vector<std::string>;

// The blocks share one activation module, whose calls are numbered.
Naming over_resnet(Keys probes) {
  probes.push_back("backbone.conv1.weight");
  probes.push_back("backbone.layer4.0.conv3.weight");
  const std::string block = "backbone.layer{s}.{b}";
  return {.framework = "torchvision",
          .probes = std::move(probes),
          .taps = {{"backbone.act1", {"backbone.relu"}},
                   {block + ".act1", {block + ".relu"}},
                   {block + ".act2", {block + ".relu#1"}},
                   {block + ".act3", {block + ".relu#2"}},
                   {block + ".shortcut", {}}}};
}

Naming over_mobilenetv3(Keys probes) {
  Naming naming{.framework = "torchvision", .probes = std::move(probes)};
  const MobileStages& stages = mobilenetv3_large();
  const std::string last = std::to_string(add_torchvision_names(&naming, stages, "backbone.", "backbone."));
  naming.taps.push_back({"backbone.blocks." + std::to_string(stages.size() - 1) + ".0", {"backbone." + last}});
  naming.probes.push_back("backbone.1.block.0.0.weight");
  naming.probes.push_back("backbone." + last + ".0.weight");
  return naming;
}

}  // namespace

std::span<const Naming> deeplabv3::namings() {
  const Keys head = {"classifier.0.convs.0.0.weight", "classifier.0.project.0.weight"};
  static const Naming table[] = {over_resnet(head), over_mobilenetv3(head)};
  return table;
}

std::span<const Naming> fcn::namings() {
  static const Naming table[] = {over_resnet({"classifier.0.weight", "classifier.4.weight"})};
  return table;
}

std::span<const Naming> lraspp::namings() {
  static const Naming table[] = {over_mobilenetv3({"classifier.cbr.0.weight", "classifier.low_classifier.weight"})};
  return table;
}

}  // namespace ferry
