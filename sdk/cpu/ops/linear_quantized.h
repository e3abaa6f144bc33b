// Linears and pointwise convolutions whose weights are quantised.
#pragma once

#include "sdk/cpu/backend/algorithms.h"

namespace ferry::cpu {

// Lowers a linear operator, or a pointwise convolution, whose weight is quantised to a product of 8-bit rows with the
// weight's integers. Each row of the input, a pixel's channels, is quantised when it runs: its minimum and maximum span
// 256 steps. Kernels exist for Int8 with one scale, or one for each output channel, and for Int4 in blocks of a multiple
// of 32, both without a zero point. *out stays null for everything else, which is computed with dequantised weights.
Status create_linear_quantized(const Weighted& weighted, std::unique_ptr<Op>* out);

}  // namespace ferry::cpu
