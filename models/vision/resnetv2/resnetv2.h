// Big Transfer's pre-activation ResNets (Kolesnikov et al., arXiv:1912.11370): group normalization and
// weight-standardized convolutions, with timm's module names.
#pragma once

#include "models/vision/image_family.h"

namespace ferry::resnetv2 {

struct Config {
  const char* architecture;
  int layers[4];
  int width;  // multiplier of ResNet's channels
};
const Config& config_of(const std::string& architecture);

std::span<const ImageVariant> variants();
std::span<const Naming> namings();
void build(Graph& graph, const Weights& weights, const ImageOptions& options);

}  // namespace ferry::resnetv2
