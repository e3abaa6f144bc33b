// BiRefNet (Zheng et al., CAAI AIR 2024, arXiv:2401.03407) segments the foreground of an image. A Swin Transformer
// encodes the image and the image at half the size; a decoder with deformable convolutions combines its feature maps
// with the image at every level. Names are those of the authors' code (https://github.com/ZhengPeng7/BiRefNet).
#pragma once

#include <array>
#include <vector>

#include "converter/graph/ops.h"
#include "models/vision/image_family.h"

namespace ferry::birefnet {

// The configuration of its Swin Transformer.
struct Backbone {
  struct Stage {
    int depth, heads, window;
  };
  static constexpr int kStages = 4, kPatch = 4;

  int width = 0;  // channels of the first stage; each stage doubles them
  std::array<Stage, kStages> stages = {};

  std::vector<int> depths() const;
};
// Reads the configuration from the shapes in w["bb"]. Throws Error if they do not determine it.
Backbone stored_backbone(const Weights& bb);
// Returns the stages' feature maps, at 1/4 to 1/32 of the image's size. `bb` may be again() of an earlier call.
std::vector<Tensor> run_backbone(Tensor image, const Weights& bb, const Backbone& backbone);

// Returns logits of the image's size. The last of the encoder's `maps` is the squeeze module's output.
Tensor decode(Tensor image, const std::vector<Tensor>& maps, const Weights& decoder);
// A block of the decoder and of the squeeze module, with `out` output channels.
Tensor decoder_block(Tensor x, const Weights& w, int out);

std::span<const ImageVariant> variants();
std::span<const Naming> namings();
void build(Graph& graph, const Weights& weights, const ImageOptions& options);

}  // namespace ferry::birefnet
