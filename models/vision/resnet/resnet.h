// ResNet (He et al., arXiv:1512.03385), its d-variants (He et al., arXiv:1812.01187) and SE-ResNet (Hu et al.,
// arXiv:1709.01507), in timm's names. Naming tables read transformers and torchvision checkpoints too.
#pragma once

#include "models/blocks/resnet_trunk.h"
#include "models/vision/image_family.h"

namespace ferry::resnet {

using Config = ResNetConfig;
const Config& config_of(const std::string& architecture);

std::span<const ImageVariant> variants();
std::span<const Naming> namings();
void build(Graph& graph, const Weights& weights, const ImageOptions& options);
Described described_by(const nlohmann::json& config);
// The network of a transformers config.json.
Config from_transformers(const nlohmann::json& config);

}  // namespace ferry::resnet
