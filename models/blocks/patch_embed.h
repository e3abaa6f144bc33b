// Patch embedding: cuts an image into patches, one token each. `Grid` is the size of the patch grid.
#pragma once

#include "converter/graph/ops.h"

namespace ferry {

struct Grid {
  int height = 0, width = 0;
  int size() const { return height * width; }
  bool operator==(const Grid&) const = default;
};

struct PatchEmbedOptions {
  int out = 0;    // channels of a token
  int patch = 0;  // side in pixels
  bool bias = true;
};

// Returns the patches as a map N,H/patch,W/patch,out. Throws Error if the sides of x are not multiples of `patch`.
Tensor patch_map(Tensor x, const Weights& w, const PatchEmbedOptions& options);

// Flattens a map in row-major order to tokens N,H*W,C.
Tensor to_tokens(Tensor map);
// Inverse of to_tokens().
Tensor to_map(Tensor tokens, Grid grid);
// The same for a grid whose size is that of `like` at run time.
Tensor to_map(Tensor tokens, Tensor like);

}  // namespace ferry
