// Vision transformers (Dosovitskiy et al., arXiv:2010.11929): timm's VisionTransformer with class token or average
// pooling, the image encoders of CLIP, DINO and DINOv2 (Oquab et al., arXiv:2304.07193), with timm's module names.
// Naming tables also read transformers' checkpoints of ViT and DINOv2, and those of DINOv2's authors.
#pragma once

#include "models/blocks/mlp.h"
#include "models/vision/image_family.h"

namespace ferry::vit {

enum class Pool {
  ClassToken,
  Average,       // mean of the patches, then fc_norm
  NormThenMean,  // norm, then the mean of the patches
};

// Tokens with entries in the position table, in addition to the patches.
enum class Entries {
  Patches,     // none
  ClassToken,  // the class token, not the registers
  All,
};

struct VitSize {
  int width, depth, heads;
  int hidden = 0;  // of the MLP; 0: four times the width

  bool operator==(const VitSize& other) const {
    const auto wide = [](const VitSize& s) { return s.hidden > 0 ? s.hidden : 4 * s.width; };
    return width == other.width && depth == other.depth && heads == other.heads && wide(*this) == wide(other);
  }
};

struct Config {
  const char* architecture;
  int patch;  // patch side in pixels
  VitSize size;
  Tensor (*act)(Tensor) = gelu;  // of the MLP; SwiGLU has silu
  bool clip = false;  // CLIP's image encoder: a norm before the blocks, no bias of the patch embedding, epsilon 1e-5
  bool qkv_bias = true;
  bool layer_scale = false;
  bool swiglu = false;
  bool class_token = true;
  int registers = 0;
  Entries entries = Entries::All;
  bool antialias = false;       // of resampling the position table
  bool class_and_mean = false;  // the classifier's input is the class token concatenated with the mean of the patches
  Pool pool = Pool::ClassToken;
  Tensor (*pooler_act)(Tensor) = tanh;  // of transformers' pooler, if the checkpoint has one
  int pooler = 0;                       // channels of the pooler; 0: the width

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
// The image size of the position table.
std::optional<Settings::Size> stored_size(const Weights& weights, const ImageOptions& options);

}  // namespace ferry::vit
