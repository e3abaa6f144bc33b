// Segment Anything (Kirillov et al., arXiv:2304.02643) in its authors' names, and MobileSAM (Zhang et al.,
// arXiv:2306.14289), whose image encoder is a TinyViT. Two graphs: the first one gives the image's embedding, the
// graph "prompt" takes it with points, boxes and a former mask, and gives masks.
#pragma once

#include <optional>
#include <vector>

#include "converter/graph/ops.h"
#include "models/blocks/patch_embed.h"
#include "models/vision/image_family.h"

namespace ferry::sam {

// Sizes of 0 are those of the weights.
struct Config {
  // The image encoder, where it is SAM's own vision transformer. hidden: of its MLPs.
  int width = 768, depth = 12, heads = 12, hidden = 0;
  int patch = 16;
  int window = 14;          // places a side; 0: there are none
  std::vector<int> global;  // blocks that see the whole image
  bool qkv_bias = true;
  bool positions = true;  // a learned table is added to the patches
  bool distances = true;  // scores of attention depend on distances of rows and of columns
  double epsilon = 1e-6;
  Tensor (*act)(Tensor) = gelu;

  int embedding = 256;  // channels of the image's embedding, and of what follows

  // The prompt encoder: a former mask becomes an embedding in three convolutions.
  int mask_channels = 0;
  double mask_epsilon = 1e-6;
  Tensor (*mask_act)(Tensor) = gelu;

  // The mask decoder.
  int decoder_depth = 2, decoder_heads = 8, decoder_hidden = 0;
  int downsample = 2;  // by how much attention between tokens and image narrows the channels
  int masks = 4;       // the one for several prompts among them
  int quality_hidden = 0;
  double decoder_epsilon = 1e-5;
  Tensor (*decoder_act)(Tensor) = relu;
  // transformers' decoder takes several groups of prompts for one image: its tokens are [images, groups, L, C].
  bool groups = false;
};

std::span<const ImageVariant> variants();
std::span<const Naming> namings();
// The graph of the image encoder.
void build(Graph& graph, const Weights& weights, const ImageOptions& options);
// The graph "prompt".
std::span<const ImageGraph> graphs();
Described described_by(const nlohmann::json& config);
std::optional<Settings::Size> stored_size(const Weights& weights, const ImageOptions& options);

// The network of a transformers config.json. Throws Error, naming the entry that is not built here.
Config from_transformers(const nlohmann::json& config);
// Of images, as the config.json says.
int image_side(const nlohmann::json& config);
// The network that the shapes of a checkpoint tell.
Config from_shapes(const Weights& weights);

}  // namespace ferry::sam
