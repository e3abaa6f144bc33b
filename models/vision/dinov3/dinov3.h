// DINOv3's vision transformers (Siméoni et al., arXiv:2508.10104) in the names of timm's Eva. Naming tables read
// transformers' and the authors' own checkpoints too.
#pragma once

#include "models/blocks/attention.h"
#include "models/vision/image_family.h"

namespace ferry::dinov3 {

struct Config {
  const char* architecture;
  int width, depth, heads, hidden;  // hidden: of the MLP
  bool gated = false;               // SwiGLU
  bool qkv_bias = false;            // of queries and values; keys never have one
  bool class_pool = false;          // the class token stands for the image; false: the mean of the patches
  int patch = 16;                   // its side in pixels
  int registers = 4;
  double epsilon = 1e-5;
  double theta = 100;            // of the rotary periods
  Tensor (*act)(Tensor) = gelu;  // of the MLP, or of SwiGLU's gate
  // What `qkv_bias` does not say of the attention's biases; the MLP's.
  std::optional<SelfAttentionOptions::Biases> biases = {};
  bool mlp_bias = true;

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

}  // namespace ferry::dinov3
