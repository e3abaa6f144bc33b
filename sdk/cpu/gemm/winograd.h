// 3x3 convolutions of stride 1 by Winograd's minimal filtering: fewer multiplications for some additions.
//
// A. Lavin, S. Gray, "Fast Algorithms for Convolutional Neural Networks", CVPR 2016. An output tile of m x m (2 or 4)
// takes an input tile of n x n, n = m + 2. Input tiles and kernels are transformed to n*n numbers a channel; each of
// the n*n is a matrix product over channels of its own; the products are transformed back. Rounding errors are a few
// times those of the plain sum.
#pragma once

#include "sdk/cpu/xnnpack/operator.h"

namespace ferry::cpu {

// What a machine's tiles are chosen by: channels that its transforms take at once, rows that its matrix kernels do, and
// in multiplications what one of these rows costs, and a number that the transforms move.
struct WinogradCosts {
  int64_t lanes, rows;
  double row, moved;
};
inline constexpr WinogradCosts kWinogradOnArm64{4, 4, 1.1, 8};  // instructions, counted: a vector multiplies four
inline constexpr WinogradCosts kWinogradOnOthers{8, 5, 1, 17};  // timed
#if defined(__aarch64__)
inline constexpr const WinogradCosts& kWinogradHere = kWinogradOnArm64;
#else
inline constexpr const WinogradCosts& kWinogradHere = kWinogradOnOthers;
#endif

// The tile size m for which a convolution runs faster than plainly at its declared size, or 0.
int winograd_tile(const fbs::Conv2d& params, const Shape& weight, const Shape& output,
                  const WinogradCosts& costs = kWinogradHere);

[[gnu::cold]] Status create_winograd(const CpuFeatures& cpu, const Model& model, const fbs::Operator& op, int tile,
                                     std::unique_ptr<Op>* out);

}  // namespace ferry::cpu
