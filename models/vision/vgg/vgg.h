// VGG 11, 13, 16 and 19, with or without BatchNorm (Simonyan and Zisserman, arXiv:1409.1556), with timm's module names.
// A naming table reads torchvision's checkpoints.
#pragma once

#include "models/vision/image_family.h"

namespace ferry::vgg {

std::span<const ImageVariant> variants();
std::span<const Naming> namings();
void build(Graph& graph, const Weights& weights, const ImageOptions& options);

}  // namespace ferry::vgg
