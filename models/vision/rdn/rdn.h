// The small residual dense network of the npm package @upscalerjs/esrgan-slim (x2, x3, x4, x8), with Keras's layer
// names. The design is that of Zhang et al., arXiv:1802.08797, as built by the Python package ISR with C=1, D=2, G=4,
// G0=64; the package's model.json files are the reference.
#pragma once

#include "models/vision/image_family.h"

namespace ferry::rdn {

std::span<const ImageVariant> variants();
std::span<const Naming> namings();
void build(Graph& graph, const Weights& weights, const ImageOptions& options);

}  // namespace ferry::rdn
