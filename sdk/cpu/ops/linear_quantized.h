// Linear operators and pointwise convolutions with quantized weights.
#pragma once

#include "sdk/cpu/backend/algorithms.h"

namespace ferry::cpu {

// Whether the weight is Int8 with one scale per tensor or per output channel, Int4 in blocks, or either in blocks of
// 32, without a zero point, of a linear or pointwise convolution.
bool linear_quantized_applies(const Weighted& weighted);

// Lowers it to an integer product: each input row (a pixel's channels) is quantized at run time to 8 bits over its
// minimum to maximum. *out stays null if there is no kernel for the blocks, the scales or the CPU.
Status create_linear_quantized(const Weighted& weighted, std::unique_ptr<Op>* out);

}  // namespace ferry::cpu
