// Swin Transformer (Liu et al., arXiv:2103.14030) and S3 with searched windows (Chen et al., arXiv:2111.14725), with
// timm's module names. Naming tables read torchvision's and transformers' checkpoints.
#pragma once

#include <vector>

#include "converter/graph/ops.h"
#include "models/vision/image_family.h"

namespace ferry::swin {

struct Config {
  const char* architecture;
  int width;                // channels of the first stage; each stage doubles them
  std::vector<int> depths;  // blocks per stage
  std::vector<int> heads;
  std::vector<int> windows;  // window side per stage
  int patch = 4;             // patch side in pixels
  double mlp_ratio = 4;
  bool qkv_bias = true;
  Tensor (*act)(Tensor) = gelu;
  // transformers: maps are padded to multiples of the window, and if one window covers the map along either axis,
  // neither axis is shifted.
  bool padded = false;

  bool operator==(const Config& other) const {
    return width == other.width && depths == other.depths && heads == other.heads && windows == other.windows &&
           patch == other.patch && mlp_ratio == other.mlp_ratio && qkv_bias == other.qkv_bias && act == other.act;
  }
};
const Config& config_of(const std::string& architecture);

std::span<const ImageVariant> variants();
std::span<const Naming> namings();
void build(Graph& graph, const Weights& weights, const ImageOptions& options);
Described described_by(const nlohmann::json& config);
// The configuration that a transformers config.json describes.
Config from_transformers(const nlohmann::json& config);

}  // namespace ferry::swin
