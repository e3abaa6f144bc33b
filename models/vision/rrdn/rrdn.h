// The residual-in-residual dense network of the npm package @upscalerjs/esrgan-thick (x2, x3, x4, x8), with Keras's
// layer names: the trunk of RRDBNet (models/vision/rrdbnet) with ReLU, as built by the Python package ISR with C=4,
// D=3, G=32, G0=64, T=10; the package's model.json files are the reference.
#pragma once

#include "models/vision/image_family.h"

namespace ferry::rrdn {

std::span<const ImageVariant> variants();
std::span<const Naming> namings();
void build(Graph& graph, const Weights& weights, const ImageOptions& options);

}  // namespace ferry::rrdn
