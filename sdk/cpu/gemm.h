// Matrix products with constant weights by kernels of our own, in tiles of more rows and columns than XNNPACK's: on x86
// with AVX-512 (gemm_kernel_avx512.h), on arm64 with cores that execute out of order (gemm_kernel_neon.h).
#pragma once

#include "sdk/cpu/features.h"
#include "sdk/cpu/packing.h"
#include "sdk/cpu/xnn.h"

#if (defined(__x86_64__) && defined(__gnu_linux__)) || defined(__aarch64__)
#define FERRY_HAS_GEMM 1
#else
#define FERRY_HAS_GEMM 0
#endif

namespace ferry::cpu {

// In each group of its own: rows [inputs] to rows [outputs].
struct Gemm {
  size_t groups = 1, inputs = 0, outputs = 0;
  float output_min = 0, output_max = 0;
};

// Whether this CPU and a product of `rows` rows gain by it. Inline on machines that never have it, which are spared
// what would follow.
#if FERRY_HAS_GEMM
bool gemm_pays(const CpuFeatures& cpu, size_t rows, const Gemm& gemm);
#else
inline bool gemm_pays(const CpuFeatures&, size_t, const Gemm&) { return false; }
#endif

// An op from [...,groups*inputs] to [...,groups*outputs]. The source's weights are [groups,outputs,inputs], its bias is
// [groups,outputs] or null.
Status create_gemm(const CpuFeatures& cpu, const Gemm& gemm, WeightSource& source, std::unique_ptr<Op>* out);

// A convolution of one group as a product of the windows under its kernel, `gemm.inputs` numbers each.
Status create_conv_gemm(const CpuFeatures& cpu, const fbs::Conv2d& params, const Shape& weight_shape, const Gemm& gemm,
                        WeightSource& source, std::unique_ptr<Op>* out);

}  // namespace ferry::cpu
