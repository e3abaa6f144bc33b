// MobileNetV3 large and small (Howard et al., arXiv:1905.02244), with timm's module names. Naming tables read
// torchvision's checkpoints.
#pragma once

#include "models/vision/image_family.h"

namespace ferry::mobilenetv3 {

struct Config {
  const char* architecture;
  bool large;
  double width = 1;      // channel multiplier
  bool minimal = false;  // 3x3 kernels, ReLU, no squeeze-and-excitation
};
// For "mobilenetv3_small_100", "tf_mobilenetv3_small_100" and torchvision's "mobilenet_v3_small".
const Config& config_of(const std::string& architecture);

std::span<const ImageVariant> variants();
std::span<const Naming> namings();
void build(Graph& graph, const Weights& weights, const ImageOptions& options);

}  // namespace ferry::mobilenetv3
