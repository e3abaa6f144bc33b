// What a stage of a Swin Transformer (Liu et al., arXiv:2103.14030) is made of, in timm's names.
#pragma once

#include "converter/graph/ops.h"

namespace ferry {

// Windows that a map is cut into after it was rolled up and left by the shift.
struct SwinWindows {
  int side = 0;
  int shift_h = 0, shift_w = 0;
  Tensor mask = {};  // unused without a shift
  bool shifted() const { return shift_h > 0 || shift_w > 0; }
};

// How odd blocks shift the windows, by half their side.
enum class WindowShift {
  EachAxis,  // along an axis that one window does not cover
  Together,  // along both, unless one window covers either
  Always,    // along both
};

// The windows of a stage's even blocks and of its odd ones, which get maps of the size of `map`.
SwinWindows even_windows(int side);
SwinWindows odd_windows(Tensor map, int side, WindowShift shift);

struct SwinBlockOptions {
  int heads = 1;
  int hidden = 0;  // of the perceptron
  bool qkv_bias = true;
  Tensor (*act)(Tensor) = gelu;
  double epsilon = 1e-5;
};
// A map that the windows do not cover is padded with zeros below and to the right. Taps w["tokens"], too: the result as
// N,L,C.
Tensor swin_block(Tensor map, const Weights& w, const SwinWindows& windows, const SwinBlockOptions& options);

// Four neighbours become one place of 4 * width channels, normalized and reduced to 2 * width; a map of odd sides is
// padded with zeros.
Tensor merge_patches(Tensor map, const Weights& w);

}  // namespace ferry
