// MobileNetV4's convolutional networks (Qin et al., arXiv:2404.10518), with timm's module names.
#pragma once

#include "models/vision/image_family.h"

namespace ferry::mobilenetv4 {

std::span<const ImageVariant> variants();
std::span<const Naming> namings();
void build(Graph& graph, const Weights& weights, const ImageOptions& options);

}  // namespace ferry::mobilenetv4
