// Vision transformers (Dosovitskiy et al., arXiv:2010.11929): timm's VisionTransformer with class tokens or average
// pooling, the image towers of CLIP, DINO and DINOv2 (Oquab et al., arXiv:2304.07193), in timm's names. Naming tables
// read transformers' checkpoints of ViT and DINOv2 and the DINOv2 authors' own too.
#pragma once

#include "models/blocks/mlp.h"
#include "models/vision/image_family.h"

namespace ferry::vit {

enum class Pool {
  ClassToken,
  Average,       // of the patches, then normalized (fc_norm)
  NormThenMean,  // the other way round
};

// Which tokens have entries in the table of positions: the patches, and of those before them
enum class Entries {
  Patches,     // none
  ClassToken,  // the class token, not the registers
  All,
};

struct Size {
  int width, depth, heads;
  int hidden = 0;  // of the MLP; 0: four times the width

  bool operator==(const Size& other) const {
    const auto wide = [](const Size& s) { return s.hidden > 0 ? s.hidden : 4 * s.width; };
    return width == other.width && depth == other.depth && heads == other.heads && wide(*this) == wide(other);
  }
};

struct Config {
  const char* architecture;
  int patch;  // its side in pixels
  Size size;
  Tensor (*act)(Tensor) = gelu;  // of the MLP; SwiGLU has its own
  bool clip = false;             // images of CLIP's: normalized before the blocks, patches without bias, epsilon 1e-5
  bool qkv_bias = true;
  bool layer_scale = false;
  bool swiglu = false;
  bool class_token = true;
  int registers = 0;
  Entries entries = Entries::All;
  bool antialias = false;       // where the table of positions is resampled
  bool class_and_mean = false;  // the classifier's input: the class token and, behind it, the mean of the patches
  Pool pool = Pool::ClassToken;
  Tensor (*pooler_act)(Tensor) = tanh;  // of transformers' pooler, which the checkpoint may have
  int pooler = 0;                       // its channels; 0: the width

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
// The image that the table of positions covers.
std::optional<Settings::Size> stored_size(const Weights& weights, const ImageOptions& options);

}  // namespace ferry::vit
