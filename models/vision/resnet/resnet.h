// ResNet (He et al., arXiv:1512.03385), its d-variants (He et al., arXiv:1812.01187) and SE-ResNet (Hu et al.,
// arXiv:1709.01507), with timm's module names. Naming tables also read transformers' and torchvision's checkpoints.
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
// The configuration that a transformers config.json describes.
Config from_transformers(const nlohmann::json& config);

}  // namespace ferry::resnet
