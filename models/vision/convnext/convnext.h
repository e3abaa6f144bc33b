// ConvNeXt (Liu et al., arXiv:2201.03545), ConvNeXt V2 (Woo et al., arXiv:2301.00808) and DINOv3's ConvNeXts (Siméoni
// et al., arXiv:2508.10104), with timm's module names. Naming tables read transformers' checkpoints of all three.
#pragma once

#include <vector>

#include "converter/graph/ops.h"
#include "models/vision/image_family.h"

namespace ferry::convnext {

enum class Stem {
  Patch,          // 4x4, stride 4
  Overlap,        // two 3x3, stride 2
  OverlapTiered,  // the same; the first has half of the channels
};

struct Config {
  const char* architecture;
  std::vector<int> depths, widths;  // per stage
  bool v2 = false;                  // global response normalization in the MLP, no LayerScale
  Stem stem = Stem::Patch;
  bool norm_first = false;  // the head normalizes before pooling
  int head_hidden = 0;      // channels of a hidden layer in the head; 0: none
  double epsilon = 1e-6;
  // The norm applies to the pooled map and to every position of the last map (transformers' DINOv3ConvNextModel).
  bool tokens = false;
  int patch = 4;                 // of Stem::Patch
  Tensor (*act)(Tensor) = gelu;  // of the MLPs
  bool layer_scale = true;       // except V2

  bool operator==(const Config&) const = default;
};
const Config& config_of(const std::string& architecture);

std::span<const ImageVariant> variants();
std::span<const Naming> namings();
void build(Graph& graph, const Weights& weights, const ImageOptions& options);
// The same with an explicit configuration.
void build(Graph& graph, const Weights& weights, const ImageOptions& options, const Config& config);
Described described_by(const nlohmann::json& config);
// The configuration that a transformers config.json describes.
Config from_transformers(const nlohmann::json& config);

}  // namespace ferry::convnext
