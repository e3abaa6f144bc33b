// BiRefNet (Zheng et al., CAAI AIR 2024, arXiv:2401.03407), which tells what stands in front of a picture: a Swin
// Transformer sees the picture and its half, a decoder with deformable convolutions sees their maps and the picture
// again at every level. Its names are those of the authors' program (https://github.com/ZhengPeng7/BiRefNet).
#pragma once

#include <array>
#include <vector>

#include "converter/graph/ops.h"
#include "models/vision/picture_family.h"

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
// The stages' maps, at 1/4 to 1/32 of the picture's size. `bb` may be again() of one that ran before.
std::vector<Tensor> run_backbone(Tensor picture, const Weights& bb, const Backbone& backbone);

// From the picture and the encoder's maps, of which the last went through the squeeze module, to logits of the
// picture's size.
Tensor decode(Tensor picture, const std::vector<Tensor>& maps, const Weights& decoder);
// A block of the decoder, and of the squeeze module: `out` channels.
Tensor decoder_block(Tensor x, const Weights& w, int out);

std::span<const PictureVariant> variants();
std::span<const Naming> namings();
void build(Graph& graph, const Weights& weights, const PictureOptions& options);

}  // namespace ferry::birefnet
