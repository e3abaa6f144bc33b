// RRDBNet, the generator of ESRGAN (Wang et al., arXiv:1809.00219) and Real-ESRGAN (arXiv:2107.10833):
// residual-in-residual dense blocks at the input's size (or after pixel unshuffle), then nearest-neighbour upsampling
// with a convolution after each doubling. All sizes are taken from the checkpoint.
#pragma once

#include "models/vision/image_family.h"

namespace ferry::rrdbnet {

std::span<const ImageVariant> variants();
std::span<const Naming> namings();
void build(Graph& graph, const Weights& weights, const ImageOptions& options);

}  // namespace ferry::rrdbnet
