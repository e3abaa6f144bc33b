// Position embeddings: resampled at conversion for the converted patch grid, or in the graph for the grid at run time.
#pragma once

#include <span>
#include <vector>

#include "models/blocks/patch_embed.h"

namespace ferry {

// Resamples `table` (`from` x channels) to `to` as PyTorch's interpolate(mode="bicubic", align_corners=False): cubic
// convolution with a = -0.75 over the four nearest positions, edges repeated. `antialias`: a = -0.5, the kernel is
// stretched where the axis shrinks, and positions outside are omitted.
std::vector<double> resample_bicubic(std::span<const double> table, int channels, Grid from, Grid to,
                                     bool antialias = false);

// The learned table `w`, stored as 1,prefix+positions,C for a square grid, resampled for the grid `to`. The entries of
// the `prefix` tokens are unchanged.
Tensor position_table(const Weights& w, int channels, int prefix, Grid to, bool antialias = false);

// Resamples a square constant `grid` 1,M,M,C to the size of `like` at run time, as resample_bicubic() does: 1,H*W,C.
// `offset` > 0: the scale is computed with sides larger by `offset`, as in the code of DINOv2, unless the size is
// unchanged.
Tensor positions_like(Tensor grid, Tensor like, double offset = 0);

// 0, 1... up to the size that dimension `dim` of `like` has at run time, at most 1024: n,1.
Tensor positions_along(Tensor like, int dim);
// The number of rows of such positions, as a tensor: 1,1.
Tensor count_of(Tensor positions);

}  // namespace ferry
