// Matrix products with constant weights on AVX-512. XNNPACK's kernels compute 7 rows at once there and wait for weights
// from the L2 cache; these compute 12.
#pragma once

#include "sdk/cpu/features.h"
#include "sdk/cpu/packing.h"
#include "sdk/cpu/xnn.h"

namespace ferry::cpu {

// In each group of its own: rows [inputs] to rows [outputs].
struct Gemm {
  size_t groups = 1, inputs = 0, outputs = 0;
  float output_min = 0, output_max = 0;
};

// Whether this CPU and a product of `rows` rows gain by it. False on machines without AVX-512; inline on those that
// never have it, which are spared what would follow.
#if defined(__x86_64__) && defined(__gnu_linux__)
bool gemm_avx512_pays(const CpuFeatures& cpu, size_t rows, const Gemm& gemm);
#else
inline bool gemm_avx512_pays(const CpuFeatures&, size_t, const Gemm&) { return false; }
#endif

// An op from [...,groups*inputs] to [...,groups*outputs]. The source's weights are [groups,outputs,inputs], its bias is
// [groups,outputs] or null.
Status create_gemm_avx512(const Gemm& gemm, WeightSource& source, std::unique_ptr<Op>* out);

// A convolution of one group as a product of the windows under its kernel, `gemm.inputs` numbers each.
Status create_conv_avx512(const fbs::Conv2d& params, const Shape& weight_shape, const Gemm& gemm, WeightSource& source,
                          std::unique_ptr<Op>* out);

}  // namespace ferry::cpu
