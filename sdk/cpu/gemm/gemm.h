// Matrix products with constant weights by our own kernels, with larger register tiles than XNNPACK's: on x86 with AVX2
// or AVX-512 (kernel_avx2.h, kernel_avx512.h), on arm64 (kernel_neon.h).
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

// Per group: maps rows of `inputs` elements to rows of `outputs` elements.
struct Gemm {
  size_t groups = 1, inputs = 0, outputs = 0;
  float output_min = 0, output_max = 0;
  bool float16 = false;  // float16 activations and packed weights; otherwise float32
  bool planes = false;   // the rows of a group are contiguous; groups lie gemm_plane() elements apart
};

// Elements from a group to the next: a cache line of padding keeps groups from lying a power of two apart.
inline size_t gemm_plane(size_t rows, size_t channels) { return rows * channels + 16; }

// Whether our kernels are faster for a product of `rows` rows on this CPU. Inline and false where there are none, so
// that the callers' code for them is removed.
#if FERRY_HAS_GEMM
bool gemm_pays(const CpuFeatures& cpu, size_t rows, const Gemm& gemm);
#else
inline bool gemm_pays(const CpuFeatures&, size_t, const Gemm&) { return false; }
#endif

// An operator from [...,groups*inputs] to [...,groups*outputs]. The source's weights are [groups,outputs,inputs]; its
// bias is [groups,outputs] or null.
Status create_gemm(const CpuFeatures& cpu, const Gemm& gemm, WeightSource& source, std::unique_ptr<Op>* out);

// A convolution of one group as a product of the windows under its kernel, `gemm.inputs` elements each.
Status create_conv_gemm(const CpuFeatures& cpu, const fbs::Conv2d& params, const Shape& weight_shape, const Gemm& gemm,
                        WeightSource& source, std::unique_ptr<Op>* out);

}  // namespace ferry::cpu
