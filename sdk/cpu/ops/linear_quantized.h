// Linear operators and pointwise convolutions with quantized weights.
#pragma once

#include "sdk/cpu/backend/algorithms.h"

namespace ferry::cpu {

// Lowers a linear or conv2d with a quantized weight to an integer product: each input row (a pixel's channels) is
// quantized at run time to 8 bits over its minimum to maximum. There are kernels for Int8 with one scale per tensor or
// per output channel, and for Int4 in blocks of a multiple of 32. Both require no zero point and a linear or pointwise
// convolution. *out stays null for other weights, which are dequantized to Float32 when lowered.
Status create_linear_quantized(const Weighted& weighted, std::unique_ptr<Op>* out);

}  // namespace ferry::cpu
