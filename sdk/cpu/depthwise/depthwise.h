// Depthwise convolutions with AVX-512, with AVX2 and on arm64: a vector of channels of several pixels at once, a weight
// read once for all of them.
#pragma once

#include "sdk/cpu/backend/features.h"
#include "sdk/cpu/backend/packing.h"
#include "sdk/cpu/xnnpack/operator.h"

#if (defined(__x86_64__) && defined(__gnu_linux__)) || defined(__aarch64__)
#define FERRY_HAS_DEPTHWISE 1
#else
#define FERRY_HAS_DEPTHWISE 0
#endif

namespace ferry::cpu {

// False on other machines.
bool depthwise_applies(const CpuFeatures& cpu, const fbs::Conv2d& params, const Shape& weight);

// Is it one of those that most are, which every arm64 machine computes here? A library for given blobs may have no
// kernels for others (Feature::OtherDepthwise).
inline bool depthwise_is_common(const fbs::Conv2d& params, const Shape& weight) {
  return params.groups() == weight[0] && weight[3] == 1 && weight[0] >= 8 && weight[0] % 4 == 0 && weight[1] == 3 &&
         weight[2] == 3 && params.dilation_h() == 1 && params.dilation_w() == 1 && params.stride_h() <= 2 &&
         params.stride_w() <= 2;
}

// The weight's shape is [C,KH,KW,1].
Status create_depthwise(const CpuFeatures& cpu, const fbs::Conv2d& params, const Shape& weight, WeightSource& source,
                        std::unique_ptr<Op>* out);

// The same of halves, on arm64: sums of at most 25 products, which are added up in half precision.
bool float16_depthwise_applies(const CpuFeatures& cpu, const fbs::Conv2d& params, const Shape& weight);
Status create_float16_depthwise(const fbs::Conv2d& params, const Shape& weight, WeightSource& source,
                                std::unique_ptr<Op>* out);

// The same on x86 with AVX2, in depthwise_avx2.cc.
Status create_depthwise_avx2(const fbs::Conv2d& params, const Shape& weight, WeightSource& source,
                             std::unique_ptr<Op>* out);

}  // namespace ferry::cpu
