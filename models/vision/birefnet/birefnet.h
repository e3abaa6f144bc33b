// BiRefNet (Zheng et al., CAAI AIR 2024, arXiv:2401.03407), which tells what stands in front of an image: a Swin
// Transformer sees the image and its half, a decoder with deformable convolutions sees their maps and the image
// again at every level. Its names are those of the authors' program (https://github.com/ZhengPeng7/BiRefNet).
#pragma once

#include <array>
#include <vector>

#include "converter/graph/ops.h"
#include "models/vision/image_family.h"

namespace ferry::birefnet {

// The sizes of its Swin Transformer.
struct Backbone {
  struct Stage {
    int depth, heads, window;
  };
  static constexpr int kStages = 4, kPatch = 4;

  int width = 0;  // channels of the first stage; each further one has twice as many
  std::array<Stage, kStages> stages = {};

  std::vector<int> depths() const;
};
// As the checkpoint has them, in w["bb"]. Throws Error where it does not say.
Backbone stored_backbone(const Weights& bb);
// The stages' maps, at 1/4 to 1/32 of the image's size. `bb` may be again() of one that ran before.
std::vector<Tensor> run_backbone(Tensor image, const Weights& bb, const Backbone& backbone);

// From the image and the encoder's maps, of which the last went through the squeeze module, to logits of the
// image's size.
Tensor decode(Tensor image, const std::vector<Tensor>& maps, const Weights& decoder);
// A block of the decoder, and of the squeeze module: `out` channels.
Tensor decoder_block(Tensor x, const Weights& w, int out);

std::span<const ImageVariant> variants();
std::span<const Naming> namings();
void build(Graph& graph, const Weights& weights, const ImageOptions& options);

}  // namespace ferry::birefnet
