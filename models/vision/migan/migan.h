// MI-GAN (Sargsyan et al., ICCV 2023) inpaints images: an encoder of separable convolutions down to 4 x 4, and a
// generator to which the encoder's features are added. The first input channel is the mask of known pixels. Names are
// those of the authors' code (https://github.com/Picsart-AI-Research/MI-GAN).
#pragma once

#include "models/vision/image_family.h"

namespace ferry::migan {

std::span<const ImageVariant> variants();
std::span<const Naming> namings();
// The only image side that the checkpoint supports.
std::optional<Settings::Size> stored_size(const Weights& weights, const ImageOptions& options);
void build(Graph& graph, const Weights& weights, const ImageOptions& options);

}  // namespace ferry::migan
