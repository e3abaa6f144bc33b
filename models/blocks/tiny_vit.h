// The modules of TinyViT (Wu et al., arXiv:2207.10666), with timm's names; MobileSAM's encoder uses them, too.
#pragma once

#include "converter/graph/ops.h"

namespace ferry {

// Two convolutions of stride 2: N,H/4,W/4,width.
Tensor tiny_vit_stem(Tensor image, const Weights& w, int width);
// An inverted bottleneck (MBConv) of the first stage.
Tensor tiny_vit_convolution(Tensor x, const Weights& w);
// Patch merging to `out` channels, with `stride`. The caller taps it: frameworks name it differently.
Tensor tiny_vit_merging(Tensor x, const Weights& w, int out, int stride = 2);
// Window attention, a depthwise convolution, an MLP. Accepts a map and returns tokens N,H*W,C. The caller taps it:
// frameworks return either the map or the tokens.
Tensor tiny_vit_block(Tensor map, const Weights& w, int heads, int side);

}  // namespace ferry
