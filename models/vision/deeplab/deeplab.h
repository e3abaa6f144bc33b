// Semantic segmentation networks of torchvision with dilated backbones, and its module names: DeepLabV3 (Chen et al.,
// arXiv:1706.05587), FCN (Long et al., arXiv:1411.4038) and LR-ASPP (Howard et al., arXiv:1905.02244). Channels and
// classes are taken from the weights.
#pragma once

#include "models/vision/image_family.h"

namespace ferry::deeplabv3 {
std::span<const ImageVariant> variants();
std::span<const Naming> namings();
void build(Graph& graph, const Weights& weights, const ImageOptions& options);
}  // namespace ferry::deeplabv3

namespace ferry::fcn {
std::span<const ImageVariant> variants();
std::span<const Naming> namings();
void build(Graph& graph, const Weights& weights, const ImageOptions& options);
}  // namespace ferry::fcn

namespace ferry::lraspp {
std::span<const ImageVariant> variants();
std::span<const Naming> namings();
void build(Graph& graph, const Weights& weights, const ImageOptions& options);
}  // namespace ferry::lraspp
