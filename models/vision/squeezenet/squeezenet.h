// SqueezeNet 1.0 and 1.1 (Iandola et al., arXiv:1602.07360), in torchvision's names.
#pragma once

#include "models/vision/picture_family.h"

namespace ferry::squeezenet {

std::span<const PictureVariant> variants();
std::span<const Naming> namings();
void build(Graph& graph, const Weights& weights, const PictureOptions& options);

}  // namespace ferry::squeezenet
