// The parts of TinyViT (Wu et al., arXiv:2207.10666), in timm's names, of classifiers and of others' encoders.
#pragma once

#include "converter/graph/ops.h"

namespace ferry {

// Two convolutions that halve the sides: N,H/4,W/4,width.
Tensor tiny_vit_stem(Tensor image, const Weights& w, int width);
// An inverted bottleneck, of the first stage.
Tensor tiny_vit_convolution(Tensor x, const Weights& w);
// To `out` channels, and to half the sides where `stride` is 2. Not tapped: what it is to the network differs.
Tensor tiny_vit_merging(Tensor x, const Weights& w, int out, int stride = 2);
// Attention in windows of that side, a depthwise convolution, an MLP. A map in, its places as tokens N,H*W,C out; not
// tapped: frameworks differ in which of the two they give.
Tensor tiny_vit_block(Tensor map, const Weights& w, int heads, int side);

}  // namespace ferry
