// MobileNetV4's convolutional networks (Qin et al., arXiv:2404.10518), in timm's names.
#pragma once

#include "models/families.h"

namespace ferry::mobilenetv4 {

std::span<const Variant> variants();
std::span<const Naming> namings();
void build(Graph& graph, const Weights& weights, const BuildOptions& options);

}  // namespace ferry::mobilenetv4
