// Depthwise convolutions on AVX-512: 16 channels of several pixels at once, a weight read once for all of them.
#pragma once

#include "sdk/cpu/weights_cache.h"
#include "sdk/cpu/xnn.h"

namespace ferry::cpu {

// False on machines without AVX-512.
bool depthwise_avx512_pays(const fbs::Conv2d& params, const Shape& weight);

// The weight is [C,KH,KW,1], the bias [C] or null.
Status create_depthwise_avx512(const fbs::Conv2d& params, const Shape& shape, const float* weight, const float* bias,
                               WeightsCache::Creation& creation, std::unique_ptr<Op>* out);

}  // namespace ferry::cpu
