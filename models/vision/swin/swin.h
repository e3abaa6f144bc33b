// Swin Transformer (Liu et al., arXiv:2103.14030) and its searched windows S3 (Chen et al., arXiv:2111.14725), in
// timm's names; torchvision's and transformers' checkpoints are read too.
#pragma once

#include <vector>

#include "converter/graph/ops.h"
#include "models/vision/image_family.h"

namespace ferry::swin {

struct Config {
  const char* architecture;
  int width;                // channels of the first stage; each further one has twice as many
  std::vector<int> depths;  // of each stage
  std::vector<int> heads;
  std::vector<int> windows;  // their sides
  int patch = 4;             // its side in pixels
  double mlp_ratio = 4;
  bool qkv_bias = true;
  Tensor (*act)(Tensor) = gelu;
  // transformers': maps that windows do not cover are padded, and a map that one window covers along one axis is not
  // shifted along the other either.
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
// The network of a transformers config.json.
Config from_transformers(const nlohmann::json& config);

}  // namespace ferry::swin
