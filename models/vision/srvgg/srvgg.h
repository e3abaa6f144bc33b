// SRVGGNetCompact, the small super-resolution network of Real-ESRGAN (https://github.com/xinntao/Real-ESRGAN): 3x3
// convolutions at the input's size and a pixel shuffle, plus the input upscaled by nearest neighbour.
#pragma once

#include "models/vision/image_family.h"

namespace ferry::srvgg {

std::span<const ImageVariant> variants();
std::span<const Naming> namings();
void build(Graph& graph, const Weights& weights, const ImageOptions& options);

}  // namespace ferry::srvgg
