// SRVGGNetCompact, the small super-resolution network of Real-ESRGAN (https://github.com/xinntao/Real-ESRGAN): a row of
// 3x3 convolutions at the input's size, a pixel shuffle, and the input added, upscaled by repetition.
#pragma once

#include "models/vision/image_family.h"

namespace ferry::srvgg {

std::span<const ImageVariant> variants();
std::span<const Naming> namings();
void build(Graph& graph, const Weights& weights, const ImageOptions& options);

}  // namespace ferry::srvgg
