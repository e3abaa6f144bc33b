// Matrix products with constant weights by kernels of our own, in tiles of more rows and columns than XNNPACK's: on x86
// with AVX2 or AVX-512 (kernel_avx2.h, kernel_avx512.h), on arm64 (kernel_neon.h).
#pragma once

#include "sdk/cpu/backend/features.h"
#include "sdk/cpu/backend/packing.h"
#include "sdk/cpu/xnnpack/operator.h"

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
  bool float16 = false;  // of halves, else of floats: weights, too, which are packed as that
  bool planes = false;   // rows of a group lie together, a group's gemm_plane() after those of the one before
};

// Numbers from a group to the next: a cache line more than there are, so that groups do not lie a power of two apart.
inline size_t gemm_plane(size_t rows, size_t channels) { return rows * channels + 16; }

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
