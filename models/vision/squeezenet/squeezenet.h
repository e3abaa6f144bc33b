// SqueezeNet 1.0 and 1.1 (Iandola et al., arXiv:1602.07360), with torchvision's module names.
#pragma once

#include "models/vision/image_family.h"

namespace ferry::squeezenet {

std::span<const ImageVariant> variants();
std::span<const Naming> namings();
void build(Graph& graph, const Weights& weights, const ImageOptions& options);

}  // namespace ferry::squeezenet
