// One function a file: lowers its table of the schema. Listed in ops.cc.
#pragma once

#include "sdk/gpu/op.h"

namespace ferry::gpu {

Status lower_elementwise(const Problem& problem, int alternative, Lowering* out);

inline constexpr int kLinearAlternatives = 13, kConv2dAlternatives = 23, kConvTranspose2dAlternatives = 6;
Status lower_linear(const Problem& problem, int alternative, Lowering* out);
Status lower_conv2d(const Problem& problem, int alternative, Lowering* out);
Status lower_conv_transpose2d(const Problem& problem, int alternative, Lowering* out);

}  // namespace ferry::gpu
