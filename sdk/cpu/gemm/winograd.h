// 3x3 convolutions of stride 1 by Winograd's minimal filtering, which trades multiplications for additions.
//
// A. Lavin, S. Gray, "Fast Algorithms for Convolutional Neural Networks", CVPR 2016. An output tile of m x m (2 or 4)
// reads an input tile of n x n, n = m + 2. Input tiles and kernels are transformed to n*n values per channel. Each of
// the n*n positions is a matrix product over channels; the products are transformed back. Rounding errors are a few
// times those of direct convolution.
#pragma once

#include "sdk/cpu/xnnpack/operator.h"

namespace ferry::cpu {

// A machine's costs: channels per transform vector, rows per matrix kernel, and in multiplications the cost of one of
// these rows and of an element that the transforms move.
struct WinogradCosts {
  int64_t lanes, rows;
  double row, moved;
};
inline constexpr WinogradCosts kWinogradOnArm64{4, 4, 1.1, 8};  // counted instructions per vector of four
inline constexpr WinogradCosts kWinogradOnOthers{8, 5, 1, 17};  // measured
#if defined(__aarch64__)
inline constexpr const WinogradCosts& kWinogradHere = kWinogradOnArm64;
#else
inline constexpr const WinogradCosts& kWinogradHere = kWinogradOnOthers;
#endif

// The tile size m with which a convolution is faster than the direct one at its declared size, or 0.
int winograd_tile(const fbs::Conv2d& params, const Shape& weight, const Shape& output,
                  const WinogradCosts& costs = kWinogradHere);

[[gnu::cold]] Status create_winograd(const CpuFeatures& cpu, const Model& model, const fbs::Operator& op, int tile,
                                     std::unique_ptr<Op>* out);

}  // namespace ferry::cpu
