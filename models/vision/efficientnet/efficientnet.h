// EfficientNet B0 to B7 (Tan and Le, arXiv:1905.11946) and EfficientNet-Lite, in timm's names; a naming table reads
// torchvision's checkpoints.
#pragma once

#include "models/vision/image_family.h"

namespace ferry::efficientnet {

struct Config {
  const char* architecture;
  double width = 1;   // channel multiplier
  double depth = 1;   // block multiplier, rounded up
  int size = 224;     // of the images it was designed for
  bool lite = false;  // relu6, no squeeze-and-excitation, stem, head and the ends' depth as in B0
};
// Of "efficientnet_b0" and of "tf_efficientnet_b0" alike.
const Config& config_of(const std::string& architecture);

std::span<const ImageVariant> variants();
std::span<const Naming> namings();
void build(Graph& graph, const Weights& weights, const ImageOptions& options);

}  // namespace ferry::efficientnet
