// DINOv3's vision transformers (Siméoni et al., arXiv:2508.10104) in the names of timm's Eva. Naming tables read
// transformers' and the authors' own checkpoints too.
#pragma once

#include "models/vision/picture_family.h"

namespace ferry::dinov3 {

struct Config {
  const char* architecture;
  int width, depth, heads, hidden;  // hidden: of the MLP
  bool gated = false;               // SwiGLU
  bool qkv_bias = false;            // of queries and values; keys never have one
  bool class_pool = false;          // the class token stands for the picture; false: the mean of the patches
};
const Config& config_of(const std::string& architecture);

std::span<const PictureVariant> variants();
std::span<const Naming> namings();
void build(Graph& graph, const Weights& weights, const PictureOptions& options);
// The same of any configuration.
void build(Graph& graph, const Weights& weights, const PictureOptions& options, const Config& config);
std::string architecture_of(const nlohmann::json& config);

}  // namespace ferry::dinov3
