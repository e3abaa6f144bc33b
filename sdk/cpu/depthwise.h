// Depthwise convolutions with AVX-512 and on arm64: a vector of channels of several pixels at once, a weight read once
// for all of them.
#pragma once

#include "sdk/cpu/features.h"
#include "sdk/cpu/packing.h"
#include "sdk/cpu/xnn.h"

namespace ferry::cpu {

// False on other machines.
bool depthwise_pays(const CpuFeatures& cpu, const fbs::Conv2d& params, const Shape& weight);

// The weight's shape is [C,KH,KW,1].
Status create_depthwise(const fbs::Conv2d& params, const Shape& weight, WeightSource& source, std::unique_ptr<Op>* out);

}  // namespace ferry::cpu
