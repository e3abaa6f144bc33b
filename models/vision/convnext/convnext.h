// ConvNeXt (Liu et al., arXiv:2201.03545), ConvNeXt V2 (Woo et al., arXiv:2301.00808) and the ConvNeXts of DINOv3
// (Siméoni et al., arXiv:2508.10104), in timm's names. Naming tables read transformers' checkpoints of all three.
#pragma once

#include <vector>

#include "converter/graph/ops.h"
#include "models/vision/image_family.h"

namespace ferry::convnext {

enum class Stem {
  Patch,          // 4x4 with stride 4
  Overlap,        // two 3x3 with stride 2
  OverlapTiered,  // the first of them half as wide
};

struct Config {
  const char* architecture;
  std::vector<int> depths, widths;  // of each stage
  bool v2 = false;                  // global response normalization in the MLP, no LayerScale
  Stem stem = Stem::Patch;
  bool norm_first = false;  // the head normalizes before it pools
  int head_hidden = 0;      // above 0: the head has a further layer of this width
  double epsilon = 1e-6;
  bool tokens =
      false;      // the head norms the pooled map and every place of the last one: transformers' DINOv3ConvNextModel
  int patch = 4;  // of Stem::Patch
  Tensor (*act)(Tensor) = gelu;  // of the MLPs
  bool layer_scale = true;       // but for V2

  bool operator==(const Config&) const = default;
};
const Config& config_of(const std::string& architecture);

std::span<const ImageVariant> variants();
std::span<const Naming> namings();
void build(Graph& graph, const Weights& weights, const ImageOptions& options);
// The same of any configuration.
void build(Graph& graph, const Weights& weights, const ImageOptions& options, const Config& config);
Described described_by(const nlohmann::json& config);
// The network of a transformers config.json.
Config from_transformers(const nlohmann::json& config);

}  // namespace ferry::convnext
