// The trunk of ResNet (He et al., arXiv:1512.03385), of its d-variants (He et al., arXiv:1812.01187) and of SE-ResNet
// (Hu et al., arXiv:1709.01507), in timm's names, which torchvision's checkpoints have as well.
#pragma once

#include <vector>

#include "converter/graph/ops.h"

namespace ferry {

// Channels of 0 here: as many as the weights have.
struct ResNetConfig {
  const char* architecture;
  bool bottleneck;
  std::vector<int> layers;  // of each stage
  bool deep = false;        // d: stem of three 3x3 convolutions, average pool before the shortcut's convolution
  bool se = false;          // squeeze and excitation
  int stem = 64;            // channels
  std::vector<int> widths =
      {};  // channels that a stage gives; empty: 64, 128, 256..., of bottlenecks four times as many
  Tensor (*act)(Tensor) = relu;
  bool stride_first = false;  // the first stage halves the map, too
  bool stride_early = false;  // in a bottleneck's first convolution, not in its second
  // A stage's, in bottlenecks; empty: 1. Where it grows, the stage keeps the map's size instead of halving it, and its
  // first block still has the dilation of the stage before.
  std::vector<int> dilations = {};

  int width(size_t stage) const { return widths.empty() ? (bottleneck ? 256 : 64) << stage : widths[stage]; }
  int dilation(size_t stage) const { return dilations.empty() ? 1 : dilations[stage]; }
  bool operator==(const ResNetConfig&) const = default;
};

// Stem and stages, with a tap "feat/0", "feat/1"... of the last map of each resolution (timm's features_only).
Tensor resnet_trunk(Tensor image, const Weights& w, const ResNetConfig& config);

}  // namespace ferry
