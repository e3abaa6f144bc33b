// MobileNetV4's convolutional networks (Qin et al., arXiv:2404.10518), in timm's names.
#pragma once

#include "models/vision/picture_family.h"

namespace ferry::mobilenetv4 {

std::span<const PictureVariant> variants();
std::span<const Naming> namings();
void build(Graph& graph, const Weights& weights, const PictureOptions& options);

}  // namespace ferry::mobilenetv4
