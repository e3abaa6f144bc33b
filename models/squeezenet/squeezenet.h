// SqueezeNet 1.0 and 1.1 (Iandola et al., arXiv:1602.07360), in torchvision's names.
#pragma once

#include "models/families.h"

namespace ferry::squeezenet {

std::span<const Variant> variants();
std::span<const Naming> namings();
void build(Graph& graph, const Weights& weights, const BuildOptions& options);

}  // namespace ferry::squeezenet
