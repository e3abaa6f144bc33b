// The modules of SAM's graphs.
#pragma once

#include <string>

#include "models/vision/sam/sam.h"

namespace ferry::sam {

inline constexpr double kMapEpsilon = 1e-6;  // of layer normalization over a map's channels

// Published networks with SAM's ViT.
struct Published {
  const char* architecture;
  const char* hub;  // transformers'
  int width, depth;
};
std::span<const Published> published();
// The architecture name of other networks.
inline constexpr char kAnyViT[] = "sam_vit";
// Throws Error if the checkpoint's network is not the architecture's.
void check_architecture(const std::string& architecture, const Config& config);

// Whether the checkpoint's image encoder is a TinyViT.
bool is_tiny(const Weights& weights);

// Returns the image embedding, 1,H,W,C. `w`: "image_encoder".
Tensor encode_image(Tensor image, const Weights& w, const Config& config);
Tensor encode_image_tiny(Tensor image, const Weights& w);

struct Prompt {
  Tensor sparse;             // tokens of points and boxes: 1,P,C
  Tensor dense;              // mask embedding, or the learned one for no mask; broadcasts to 1,H,W,C
  Tensor position_encoding;  // position encoding of the image embedding: 1,H*W,C
};
// Adds the graph's inputs. `grid`: size of the embedding; `side`: of the image. `w`: "prompt_encoder".
Prompt encode_prompt(Graph& graph, const Weights& w, const Config& config, Grid grid, int side);

struct Masks {
  Tensor logits, qualities;  // 1,4H,4W,masks and 1,masks (predicted IoU)
};
// `w`: "mask_decoder".
Masks decode_masks(Tensor embedding, const Prompt& prompt, const Weights& w, const Config& config);

}  // namespace ferry::sam
