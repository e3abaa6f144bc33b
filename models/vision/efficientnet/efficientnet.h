// EfficientNet B0 to B7 (Tan and Le, arXiv:1905.11946) and EfficientNet-Lite, with timm's module names. A naming table
// reads torchvision's checkpoints.
#pragma once

#include "models/vision/image_family.h"

namespace ferry::efficientnet {

struct Config {
  const char* architecture;
  double width = 1;  // channel multiplier
  double depth = 1;  // block multiplier, rounded up
  int size = 224;    // image side that it was designed for
  // ReLU6, no squeeze-and-excitation; the multipliers do not apply to stem, head, first and last stage
  bool lite = false;
};
// For both "efficientnet_b0" and "tf_efficientnet_b0".
const Config& config_of(const std::string& architecture);

std::span<const ImageVariant> variants();
std::span<const Naming> namings();
void build(Graph& graph, const Weights& weights, const ImageOptions& options);

}  // namespace ferry::efficientnet
