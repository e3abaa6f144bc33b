// Tables of positions, made for the grid of patches that a network is converted for; or, in the graph, for the one that
// it runs with.
#pragma once

#include <span>
#include <vector>

#include "models/blocks/patch_embed.h"

namespace ferry {

// `table` (`from` x channels) at the places of `to`, as PyTorch's interpolate(mode="bicubic", align_corners=False)
// does: cubic convolution with a = -0.75 over the four nearest, those outside taken from the edge. `antialias`: with a
// = -0.5, stretched over as many as become one place where the axis shrinks, those outside left out.
std::vector<double> resample_bicubic(std::span<const double> table, int channels, Grid from, Grid to,
                                     bool antialias = false);

// The learned table `w`, stored as 1,prefix+places,C for a square grid, for the grid `to`: resampled where its size is
// another. Entries of the `prefix` tokens stay as they are.
Tensor position_table(const Weights& w, int channels, int prefix, Grid to, bool antialias = false);

// Of a square constant `grid` 1,M,M,C: positions for as many rows and columns as the map `like` has at run time,
// 1,H*W,C, resampled as resample_bicubic() does. Above 0, `offset` is how much larger the authors of DINOv2 take a new
// grid's sides for when they divide by them, unless the new grid is the old one.
Tensor positions_like(Tensor grid, Tensor like, double offset = 0);

}  // namespace ferry
