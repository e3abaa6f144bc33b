// Vision transformers (Dosovitskiy et al., arXiv:2010.11929): timm's VisionTransformer with class tokens or average
// pooling, the image towers of CLIP, DINO and DINOv2 (Oquab et al., arXiv:2304.07193), in timm's names. Naming tables
// read transformers' checkpoints of ViT and DINOv2 and the DINOv2 authors' own too.
#pragma once

#include "models/vision/picture_family.h"

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
};

struct Config {
  const char* architecture;
  int patch;  // its side in pixels
  Size size;
  bool clip = false;  // pictures of CLIP's: normalized before the blocks, patches without bias, epsilon 1e-5
  bool quick_gelu = false;
  bool qkv_bias = true;
  bool layer_scale = false;
  bool swiglu = false;
  bool class_token = true;
  int registers = 0;
  Entries entries = Entries::All;
  bool antialias = false;       // where the table of positions is resampled
  bool class_and_mean = false;  // the classifier's input: the class token and, behind it, the mean of the patches
  Pool pool = Pool::ClassToken;
};
const Config& config_of(const std::string& architecture);

std::span<const PictureVariant> variants();
std::span<const Naming> namings();
void build(Graph& graph, const Weights& weights, const PictureOptions& options);
// The same of any configuration.
void build(Graph& graph, const Weights& weights, const PictureOptions& options, const Config& config);
std::string architecture_of(const nlohmann::json& config);

}  // namespace ferry::vit
