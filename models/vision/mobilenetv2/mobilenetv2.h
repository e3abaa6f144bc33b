// MobileNetV2 (Sandler et al., arXiv:1801.04381), in timm's names; naming tables read torchvision's and transformers'
// checkpoints.
#pragma once

#include "converter/graph/ops.h"
#include "models/vision/image_family.h"

namespace ferry::mobilenetv2 {

struct Config {
  const char* architecture;
  double width = 1;           // channel multiplier
  double depth = 1;           // block multiplier, rounded up; first and last stage excepted
  bool fixed_ends = false;    // stem and head keep their 32 and 1280 channels whatever the width
  bool same_padding = false;  // as TensorFlow pads
  double expansion = 6;
  Tensor (*act)(Tensor) = relu6;
  // Of transformers: how channels are rounded, and whether the head keeps its 1280 in networks narrower than 1.
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
// The network of a transformers config.json.
Config from_transformers(const nlohmann::json& config);

}  // namespace ferry::mobilenetv2
