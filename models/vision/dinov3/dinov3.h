// DINOv3's vision transformers (Siméoni et al., arXiv:2508.10104) with the module names of timm's Eva. Naming tables
// also read transformers' and the authors' checkpoints.
#pragma once

#include "models/blocks/attention.h"
#include "models/vision/image_family.h"

namespace ferry::dinov3 {

struct Config {
  const char* architecture;
  int width, depth, heads, hidden;  // hidden: of the MLP
  bool gated = false;               // SwiGLU
  bool qkv_bias = false;            // of queries and values; keys have none
  bool class_pool = false;          // pools by the class token; false: by the mean of the patches
  int patch = 16;                   // patch side in pixels
  int registers = 4;
  double epsilon = 1e-5;
  double theta = 100;            // base of the rotary periods
  Tensor (*act)(Tensor) = gelu;  // of the MLP, or of SwiGLU's gate
  // Biases of attention that `qkv_bias` cannot express, and of the MLP.
  std::optional<SelfAttentionOptions::Biases> biases = {};
  bool mlp_bias = true;

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

}  // namespace ferry::dinov3
