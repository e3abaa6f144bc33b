// MobileNetV2 (Sandler et al., arXiv:1801.04381), with timm's module names. Naming tables read torchvision's and
// transformers' checkpoints.
#pragma once

#include "converter/graph/ops.h"
#include "models/vision/image_family.h"

namespace ferry::mobilenetv2 {

struct Config {
  const char* architecture;
  double width = 1;           // channel multiplier
  double depth = 1;           // block multiplier, rounded up; not for the first and the last stage
  bool fixed_ends = false;    // stem and head keep 32 and 1280 channels for every width
  bool same_padding = false;  // TensorFlow's SAME padding
  double expansion = 6;
  Tensor (*act)(Tensor) = relu6;
  // transformers: rounding of channels, and whether the head keeps 1280 channels for a width below 1.
  bool integers = false;
  int divisor = 8, minimum = 8;
  bool fine_head = true;

  bool operator==(const Config&) const = default;
};
const Config& config_of(const std::string& architecture);

std::span<const ImageVariant> variants();
std::span<const Naming> namings();
void build(Graph& graph, const Weights& weights, const ImageOptions& options);
Described described_by(const nlohmann::json& config);
// The configuration that a transformers config.json describes.
Config from_transformers(const nlohmann::json& config);

}  // namespace ferry::mobilenetv2
