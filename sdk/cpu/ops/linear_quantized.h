// Linears and pointwise convolutions whose weights are quantised.
#pragma once

#include "sdk/cpu/backend/op.h"

namespace ferry::cpu {

// Lowers a linear or a conv2d whose weight is quantised: to a product of 8-bit rows with the weight's integers, where
// each row of the input, a pixel's channels, is rounded when it runs: least and largest value on 256 steps. Kernels
// there are for Int8 with one scale or one an output channel, and for Int4 in blocks of a multiple of 32, both without
// a zero point, and for linears and pointwise convolutions. Everything else is lowered with the numbers that the weight
// stands for, as if it were Float32.
Status create_linear_quantized(const CpuFeatures& cpu, const Model& model, const fbs::Operator& op,
                               std::unique_ptr<Op>* out);

}  // namespace ferry::cpu
