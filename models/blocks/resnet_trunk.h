// The trunk of ResNet (He et al., arXiv:1512.03385), its d-variants (He et al., arXiv:1812.01187) and SE-ResNet (Hu et
// al., arXiv:1709.01507), with timm's module names, which torchvision shares.
#pragma once

#include <vector>

#include "converter/graph/ops.h"

namespace ferry {

// A channel count of 0 is taken from the weight's shape.
struct ResNetConfig {
  const char* architecture;
  bool bottleneck;
  std::vector<int> layers;  // blocks of each stage
  bool deep = false;  // d-variant: a stem of three 3x3 convolutions, average pooling before the shortcut's convolution
  bool se = false;    // squeeze and excitation
  int stem = 64;      // output channels of the stem
  std::vector<int> widths = {};  // output channels of the stages; empty: 64, 128, 256..., times four for bottlenecks
  Tensor (*act)(Tensor) = relu;
  bool stride_first = false;  // the first stage has stride 2, too
  bool stride_early = false;  // the stride is in the first convolution of a bottleneck, not in the second
  // Dilation of each stage's bottlenecks; empty: 1. A stage whose dilation grows keeps the map's size, and its first
  // block uses the previous stage's dilation.
  std::vector<int> dilations = {};

  int width(size_t stage) const { return widths.empty() ? (bottleneck ? 256 : 64) << stage : widths[stage]; }
  int dilation(size_t stage) const { return dilations.empty() ? 1 : dilations[stage]; }
  bool operator==(const ResNetConfig&) const = default;
};

// Stem and stages. Taps "feat/0", "feat/1"... are the last feature map of each resolution (timm's features_only).
Tensor resnet_trunk(Tensor image, const Weights& w, const ResNetConfig& config);

}  // namespace ferry
