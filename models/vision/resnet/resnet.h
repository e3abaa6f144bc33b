// ResNet (He et al., arXiv:1512.03385), its d-variants (He et al., arXiv:1812.01187) and SE-ResNet (Hu et al.,
// arXiv:1709.01507), in timm's names. Naming tables read transformers and torchvision checkpoints too.
#pragma once

#include "models/vision/picture_family.h"

namespace ferry::resnet {

struct Config {
  const char* architecture;
  bool bottleneck;
  int layers[4];
  bool deep = false;  // d: stem of three 3x3 convolutions, average pool before the shortcut's convolution
  bool se = false;    // squeeze and excitation
};
const Config& config_of(const std::string& architecture);

std::span<const PictureVariant> variants();
std::span<const Naming> namings();
void build(Graph& graph, const Weights& weights, const PictureOptions& options);
std::string architecture_of(const nlohmann::json& config);

}  // namespace ferry::resnet
