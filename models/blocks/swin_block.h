// The blocks of Swin Transformer (Liu et al., arXiv:2103.14030), with timm's module names.
#pragma once

#include "converter/graph/ops.h"

namespace ferry {

// Windows of a map that is cyclically shifted up and left before the partition.
struct SwinWindows {
  int side = 0;
  int shift_h = 0, shift_w = 0;
  Tensor mask = {};  // unused if not shifted
  bool shifted() const { return shift_h > 0 || shift_w > 0; }
};

// Which axes the odd blocks shift by half of the window's side.
enum class WindowShift {
  EachAxis,  // those that one window does not cover
  Together,  // both, unless one window covers either
  Always,    // both
};

// Windows of a stage's even and odd blocks; `map` is a block's input.
SwinWindows even_windows(int side);
SwinWindows odd_windows(Tensor map, int side, WindowShift shift);

struct SwinBlockOptions {
  int heads = 1;
  int hidden = 0;  // of the MLP
  bool qkv_bias = true;
  Tensor (*act)(Tensor) = gelu;
  double epsilon = 1e-5;
};
// A map whose sides are not multiples of the window is padded with zeros at the bottom and right. Taps w["tokens"],
// too: the result as N,L,C.
Tensor swin_block(Tensor map, const Weights& w, const SwinWindows& windows, const SwinBlockOptions& options);

// Patch merging: concatenates 2x2 neighbours to 4 * width channels, normalizes, and reduces to 2 * width. Odd sides are
// padded with zeros.
Tensor merge_patches(Tensor map, const Weights& w);

}  // namespace ferry
