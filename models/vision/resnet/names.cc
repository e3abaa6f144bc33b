#include "models/vision/resnet/resnet.h"

namespace ferry::resnet {
namespace {

// timm's module names are canonical. The reference runs the pool for `features` and for `logits`: two records.
Naming timm() {
  return {.framework = "timm",
          .probes = {"layer1.0.conv1.weight", "layer4.1.bn2.running_var"},
          .taps = {{"layer{s}.{b}.shortcut", {}}, {"global_pool", {"global_pool", "global_pool#1"}}}};
}

// torchvision has timm's keys; a block's activations are one shared module without keys.
Naming torchvision() {
  return {.framework = "torchvision",
          .probes = {"layer1.0.conv1.weight", "layer4.1.bn2.running_var"},
          .taps = {{"act1", {"relu"}},
                   {"layer{s}.{b}.act{i}", {}},
                   {"layer{s}.{b}.shortcut", {}},
                   {"global_pool.pool", {"avgpool"}},
                   {"global_pool", {}}}};
}

// transformers' ResNetForImageClassification counts stages from 0 and a block's convolutions as layer.0, layer.1...; a
// convolution, its normalization and its activation (an Identity after the last) are one module. `root` is the prefix
// of the network inside a classifier ("resnet."); ResNetModel has none.
Naming transformers(const std::string& root, bool bottleneck) {
  const std::string block = root + "encoder.stages.{s-1}.layers.{b}";
  const std::string last = bottleneck ? "2" : "1", last_bn = bottleneck ? "bn3" : "bn2";
  Naming naming{.framework = "transformers", .input = "pixel_values"};
  naming.probes = {root + "embedder.embedder.convolution.weight"};
  if (bottleneck) naming.probes.push_back(root + "encoder.stages.0.layers.0.layer.2.convolution.weight");
  naming.keys = {{"conv1", {root + "embedder.embedder.convolution"}},
                 {"bn1", {root + "embedder.embedder.normalization"}},
                 {"layer{s}.{b}.conv{i}", {block + ".layer.{i-1}.convolution"}},
                 {"layer{s}.{b}.bn{i}", {block + ".layer.{i-1}.normalization"}},
                 {"layer{s}.{b}.downsample.0", {block + ".shortcut.convolution"}},
                 {"layer{s}.{b}.downsample.1", {block + ".shortcut.normalization"}},
                 {"layer{s}.{b}", {block}},
                 {"layer{s}", {root + "encoder.stages.{s-1}"}},
                 {"fc", {"classifier.1"}}};
  naming.taps = {{"act1", {root + "embedder.embedder", root + "embedder.embedder.activation"}},
                 {"maxpool", {root + "embedder", root + "embedder.pooler"}},
                 {"layer{s}.{b}.act1", {block + ".layer.0", block + ".layer.0.activation"}},
                 {"layer{s}.{b}." + last_bn,
                  {block + ".layer", block + ".layer." + last, block + ".layer." + last + ".normalization",
                   block + ".layer." + last + ".activation"}},
                 {"layer{s}.{b}.downsample", {block + ".shortcut"}},
                 {"layer{s}.{b}.shortcut", {block + ".shortcut"}},
                 {"global_pool.pool", {root + "pooler"}},
                 {"global_pool", {"classifier.0"}},
                 {"fc", {"classifier", "classifier.1"}}};
  if (bottleneck) naming.taps.push_back({"layer{s}.{b}.act2", {block + ".layer.1", block + ".layer.1.activation"}});
  naming.taps.push_back({bottleneck ? "layer{s}.{b}.act3" : "layer{s}.{b}.act2", {block + ".activation"}});
  return naming;
}

}  // namespace

std::span<const Naming> namings() {
  // transformers' bottleneck comes first: its keys include the probes of the basic block.
  static const Naming table[] = {timm(),
                                 torchvision(),
                                 transformers("", true),
                                 transformers("", false),
                                 transformers("resnet.", true),
                                 transformers("resnet.", false)};
  return table;
}

}  // namespace ferry::resnet
