// TinyViT (Wu et al., arXiv:2207.10666) with timm's module names: MBConv blocks, then window attention with a depthwise
// convolution between attention and MLP.
#pragma once

#include "models/vision/image_family.h"

namespace ferry::tiny_vit {

std::span<const ImageVariant> variants();
std::span<const Naming> namings();
void build(Graph& graph, const Weights& weights, const ImageOptions& options);

}  // namespace ferry::tiny_vit
