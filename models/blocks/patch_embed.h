// An image cut into patches, each a token; and where tokens come from: tables of positions for a grid of patches.
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

// Patches as a map N,H/patch,W/patch,out. Throws Error where the sides of x are no multiples of the patch's.
Tensor patch_map(Tensor x, const Weights& w, const PatchEmbedOptions& options);

// A map's places in rows as tokens: N,H*W,C.
Tensor to_tokens(Tensor map);
// The way back.
Tensor to_map(Tensor tokens, Grid grid);
// The same, of as many rows and columns as the map `like` has at run time.
Tensor to_map(Tensor tokens, Tensor like);

}  // namespace ferry
