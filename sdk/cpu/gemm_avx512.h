// Matrix products with constant weights on AVX-512. XNNPACK's kernels compute 7 rows at once there and wait for weights
// from the L2 cache; these compute 12.
#pragma once

#include "sdk/cpu/weights_cache.h"
#include "sdk/cpu/xnn.h"

namespace ferry::cpu {

// In each group of its own: rows [inputs] to rows [outputs].
struct Gemm {
  size_t groups = 1, inputs = 0, outputs = 0;
  float output_min = 0, output_max = 0;
};

// Whether this machine and a product of `rows` rows gain by it. False on machines without AVX-512; inline on those that
// never have it, which are spared what would follow.
#if defined(__x86_64__) && defined(__gnu_linux__)
bool gemm_avx512_pays(size_t rows, const Gemm& gemm);
#else
inline bool gemm_avx512_pays(size_t, const Gemm&) { return false; }
#endif

// An op from [...,groups*inputs] to [...,groups*outputs]. Weights are [groups,outputs,inputs], the bias [groups,outputs]
// or null; both are read only where the cache has no packed ones.
Status create_gemm_avx512(const Gemm& gemm, const float* weight, const float* bias, WeightsCache::Creation& creation,
                          std::unique_ptr<Op>* out);

// A convolution of one group as a product of the windows under its kernel, `gemm.inputs` numbers each.
Status create_conv_avx512(const fbs::Conv2d& params, const Shape& weight_shape, const Gemm& gemm, const float* weight,
                          const float* bias, WeightsCache::Creation& creation, std::unique_ptr<Op>* out);

}  // namespace ferry::cpu
