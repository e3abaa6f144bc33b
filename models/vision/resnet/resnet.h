// ResNet (He et al., arXiv:1512.03385), its d-variants (He et al., arXiv:1812.01187) and SE-ResNet (Hu et al.,
// arXiv:1709.01507), in timm's names. Naming tables read transformers and torchvision checkpoints too.
#pragma once

#include <vector>

#include "converter/graph/ops.h"
#include "models/vision/picture_family.h"

namespace ferry::resnet {

struct Config {
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

  int width(size_t stage) const { return widths.empty() ? (bottleneck ? 256 : 64) << stage : widths[stage]; }
  bool operator==(const Config&) const = default;
};
const Config& config_of(const std::string& architecture);

std::span<const PictureVariant> variants();
std::span<const Naming> namings();
void build(Graph& graph, const Weights& weights, const PictureOptions& options);
Described described_by(const nlohmann::json& config);
// The network of a transformers config.json.
Config from_transformers(const nlohmann::json& config);

}  // namespace ferry::resnet
