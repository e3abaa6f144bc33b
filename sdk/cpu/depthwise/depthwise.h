// Depthwise convolutions for AVX-512, AVX2 and arm64. A kernel computes a vector of channels for several pixels at once
// and reads each weight once for all of them.
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

// Whether this is one of the common shapes, which every arm64 machine computes with these kernels. A library for given
// blobs may lack kernels for others (Feature::OtherDepthwise).
inline bool depthwise_is_common(const fbs::Conv2d& params, const Shape& weight) {
  return params.groups() == weight[0] && weight[3] == 1 && weight[0] >= 8 && weight[0] % 4 == 0 && weight[1] == 3 &&
         weight[2] == 3 && params.dilation_h() == 1 && params.dilation_w() == 1 && params.stride_h() <= 2 &&
         params.stride_w() <= 2;
}

// weight: [C,KH,KW,1].
Status create_depthwise(const CpuFeatures& cpu, const fbs::Conv2d& params, const Shape& weight, WeightSource& source,
                        std::unique_ptr<Op>* out);

// The same in float16 on arm64. Sums have at most 25 products and are accumulated in float16.
bool float16_depthwise_applies(const CpuFeatures& cpu, const fbs::Conv2d& params, const Shape& weight);
Status create_float16_depthwise(const fbs::Conv2d& params, const Shape& weight, WeightSource& source,
                                std::unique_ptr<Op>* out);

// The same on x86 with AVX2, in depthwise_avx2.cc.
Status create_depthwise_avx2(const fbs::Conv2d& params, const Shape& weight, WeightSource& source,
                             std::unique_ptr<Op>* out);

}  // namespace ferry::cpu
