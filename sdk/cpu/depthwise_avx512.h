// Depthwise convolutions on AVX-512: 16 channels of several pixels at once, a weight read once for all of them.
#pragma once

#include "sdk/cpu/features.h"
#include "sdk/cpu/packing.h"
#include "sdk/cpu/xnn.h"

namespace ferry::cpu {

// False on machines without AVX-512.
bool depthwise_avx512_pays(const CpuFeatures& cpu, const fbs::Conv2d& params, const Shape& weight);

// The weight's shape is [C,KH,KW,1].
Status create_depthwise_avx512(const fbs::Conv2d& params, const Shape& weight, WeightSource& source,
                               std::unique_ptr<Op>* out);

}  // namespace ferry::cpu
