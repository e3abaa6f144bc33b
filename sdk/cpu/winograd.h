// 3x3 convolutions of stride 1 by Winograd's minimal filtering: fewer multiplications for some additions.
//
// A. Lavin, S. Gray, "Fast Algorithms for Convolutional Neural Networks", CVPR 2016. An output tile of m x m (2 or 4)
// takes an input tile of n x n, n = m + 2. Input tiles and kernels are transformed to n*n numbers a channel; each of
// the n*n is a matrix product over channels of its own; the products are transformed back. Rounding errors are a few
// times those of the plain sum.
#pragma once

#include "sdk/cpu/xnn.h"

namespace ferry::cpu {

// The tile size m for which a convolution runs faster than plainly at its declared size, or 0.
int winograd_tile(const fbs::Conv2d& params, const Shape& weight, const Shape& output);

[[gnu::cold]] Status create_winograd(const CpuFeatures& cpu, const Model& model, const fbs::Operator& op, int tile,
                                     std::unique_ptr<Op>* out);

}  // namespace ferry::cpu
