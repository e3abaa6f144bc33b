// Segment Anything (Kirillov et al., arXiv:2304.02643) with its authors' module names, and MobileSAM (Zhang et al.,
// arXiv:2306.14289), whose image encoder is a TinyViT. The first graph computes the image embedding; the graph "prompt"
// predicts masks from it, points, boxes and an optional mask.
#pragma once

#include <optional>
#include <vector>

#include "converter/graph/ops.h"
#include "models/blocks/patch_embed.h"
#include "models/vision/image_family.h"

namespace ferry::sam {

// A size of 0 is taken from the weights.
struct Config {
  // The image encoder, if it is SAM's ViT. hidden: of its MLPs.
  int width = 768, depth = 12, heads = 12, hidden = 0;
  int patch = 16;
  int window = 14;          // side of the attention windows; 0: none
  std::vector<int> global;  // indices of blocks with global attention
  bool qkv_bias = true;
  bool positions = true;  // learned absolute position embeddings
  bool rel_pos = true;    // relative position embeddings of rows and columns
  double epsilon = 1e-6;
  Tensor (*act)(Tensor) = gelu;

  int embedding = 256;  // channels of the image embedding

  // The prompt encoder embeds a mask by three convolutions.
  int mask_channels = 0;
  double mask_epsilon = 1e-6;
  Tensor (*mask_act)(Tensor) = gelu;

  // The mask decoder.
  int decoder_depth = 2, decoder_heads = 8, decoder_hidden = 0;
  int downsample = 2;  // factor by which attention between tokens and image reduces the channels
  int masks = 4;       // including the one for unambiguous prompts
  int quality_hidden = 0;
  double decoder_epsilon = 1e-5;
  Tensor (*decoder_act)(Tensor) = relu;
  // transformers' decoder supports groups of prompts: its tokens are [images, groups, L, C].
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

// The configuration that a transformers config.json describes. Throws Error with the name of an unsupported setting.
Config from_transformers(const nlohmann::json& config);
// Side of the image in config.json.
int image_side(const nlohmann::json& config);
// The configuration that the shapes of a checkpoint imply.
Config from_shapes(const Weights& weights);

}  // namespace ferry::sam
