// MI-GAN (Sargsyan et al., ICCV 2023), which fills holes in images: an encoder of separable convolutions down to 4 x
// 4 places, and a generator back up, to which the encoder's maps are added. The first channel of its input says what is
// known. Its names are those of the authors' program (https://github.com/Picsart-AI-Research/MI-GAN).
#pragma once

#include "models/vision/image_family.h"

namespace ferry::migan {

std::span<const ImageVariant> variants();
std::span<const Naming> namings();
// The side of the only images that the checkpoint takes.
std::optional<Settings::Size> stored_size(const Weights& weights, const ImageOptions& options);
void build(Graph& graph, const Weights& weights, const ImageOptions& options);

}  // namespace ferry::migan
